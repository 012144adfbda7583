"""The order in which Kueue should offer clusters to jobs. Pure.

Since version 0.19, the incremental dispatcher of Kueue's MultiKueue nominates clusters in the order
of `MultiKueueConfig.spec.clusters`. The reconciler (`gitops_dsf.reconciler.multikueue`) writes that
list by these rules, and the backtest replays them:

    points    how good each cluster is for the next job
    assumed   load of jobs that the scores do not show yet
    order     the list: its clusters, their order, and the changes
    byscores  the order by the scores alone, for a hub whose lists are not read
"""
