import TransferModel

extension SettlingFiles {
    /// A file that may have to be sent.
    struct Candidate {
        enum Stage: Equatable { case settling, ready, sending, resting }

        var stage = Stage.settling
        var look: Look
        /// When it was first seen in this version.
        var since: MonotonicTime
        var firstSeen: MonotonicTime
        var quiet: Interval
        /// How often it was seen to have changed.
        var changes = 0
        var isTold = false
        var failures = 0
        var lastFailure: ResultCode?
        /// Whether it has changed since its push began.
        var isStale = false
        /// Whether a writer has closed it since its push began.
        var isClosed = false
        /// The mark of the latest element in a heap for this candidate.
        var mark: UInt64 = 0
    }
}
