-- ManifestWorkReplicaSet: Progressing until the hub's work controller has read it, Degraded when it can never produce works,
-- otherwise Healthy with its counts: how far the works have come is a fact of the clusters.
-- Conditions: PlacementVerified, ManifestworkApplied, PlacementRolledOut, none with observedGeneration. PlacementRolledOut is not
-- consulted: it never becomes True while no condition rule on the works reports Progressing.
local conditions = {}
local summary = {}
if obj.status ~= nil then
  for _, condition in ipairs(obj.status.conditions or {}) do
    conditions[condition.type] = condition
  end
  summary = obj.status.summary or {}
end

local function detail(condition)
  if condition.message ~= nil and condition.message ~= "" then
    return condition.reason .. ": " .. condition.message
  end
  return condition.reason
end

local verified = conditions["PlacementVerified"]
local applied = conditions["ManifestworkApplied"]

if applied ~= nil and applied.status == "False" and applied.reason == "InvalidManifestWorkName" then
  return {status = "Degraded", message = "No works can be made. " .. detail(applied)}
end
if verified == nil then
  return {
    status = "Progressing",
    message = "Not processed yet; if this stays, the feature gate ManifestWorkReplicaSet of OCM's work controller is off"
  }
end
if verified.status == "False" then
  if verified.reason == "PlacementDecisionNotFound" then
    return {status = "Progressing", message = "A Placement of spec.placementRefs does not exist in this namespace"}
  end
  if verified.reason == "PlacementDecisionEmpty" then
    return {status = "Healthy", message = "The Placement selects no cluster"}
  end
  return {status = "Degraded", message = "The rollout cannot be planned; check spec.placementRefs and their rolloutStrategy. " .. detail(verified)}
end

local total = summary.total or 0
local message = "Applied on " .. tostring(summary.applied or 0) .. " and available on " .. tostring(summary.available or 0) .. " of " .. tostring(total) .. " clusters"
if (summary.degraded or 0) > 0 then
  message = message .. ", degraded on " .. tostring(summary.degraded)
end
return {status = "Healthy", message = message}
