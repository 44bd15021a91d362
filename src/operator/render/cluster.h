// What several kinds derive from a Controller: where its slurmctld answers, and the names NodeSets have in Slurm.
#pragma once

#include <string>

#include "api/accounting.h"
#include "api/controller.h"
#include "api/nodeset.h"
#include "api/restapi.h"
#include "kube/store.h"
#include "operator/objects.h"
#include "operator/render/json.h"
#include "operator/settings.h"

namespace capstan::op::render {

// The port that clients use, of its Service or of the external slurmctld: the one given, or Slurm's own.
int ControllerPort(const api::Controller& controller);

// "main-controller.slurm:6817", or where the external slurmctld is: the value of --conf-server.
std::string ConfServer(const api::Controller& controller);

// slurmctld's state is on a volume: what it knows of nodes and jobs outlives its pod.
bool KeepsState(const api::ControllerSpec& spec);

// Of slurmdbd's Service, or of the external one.
int AccountingPort(const api::Accounting& accounting);

// Where the tables of its clusters are: "database slurm_acct_db at mariadb.databases:3306", or "slurmdbd at HOST:PORT" where that is not the
// operator's. Two that name one host alike say the same, in whatever namespace. "": nobody else writes them, or it does not say.
std::string TablesOf(const api::Accounting& accounting);

int RestApiPort(const api::RestApi& rest_api);
// "http://main-restapi.slurm.svc.cluster.local.:6820". A token goes there: a name with its final dot is searched in no other domain.
std::string RestApiUrl(const api::RestApi& rest_api, const Settings& settings);

// The Service of that name is the RestApi's own and leads to its pods. One that somebody else has made or changed would be given a token with
// which everything may be asked of Slurm.
bool LeadsToItsPods(const Service& service, const api::RestApi& rest_api);

// The name that a NodeSet, its feature and its partition have in Slurm: the first word of template.spec.hostname
// without dashes at its ends, or the NodeSet's own name. kInvalid when the template is not an object.
Result<std::string> SlurmNameOf(const api::NodeSet& set);

// What the names of its workers begin with in Slurm, before the ordinal: "w-". nullopt: its template cannot be read.
std::optional<std::string> HostPrefixOf(const api::NodeSet& set);

// Of the NodeSets of one Controller, an older one than `set` that has its name in Slurm, or whose workers may have one
// name in Slurm with its own; nullptr: there is none. Who is younger gives way.
const api::NodeSet* ElderNamesake(const kube::ObjectList<api::NodeSet>& sets, const api::NodeSet& set);

// The ordinal of the worker of `set` that is called so in Slurm; nullopt: none is, or they are called as their machines.
std::optional<int> OrdinalOfHost(const api::NodeSet& set, std::string_view host);

// A line of slurm.conf makes a NodeSet of this name: no node that is called so registers, and beside one slurmctld does not start.
bool MakesNodeSet(std::string_view slurm_conf, std::string_view name);

// The source of a volume with the key of auth/slurm: as slurm.jwks, a set of keys, when the Secret has it below a name
// that ends so, else as slurm.key. Slurm tells the two by their names.
JsonObject SlurmKeyFile(const api::SecretKeySelector& key);

}  // namespace capstan::op::render
