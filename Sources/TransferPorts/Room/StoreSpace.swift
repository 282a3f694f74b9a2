package import TransferModel
package import TransferSystem

/// How much a store may take and how much there is, and how it does, for those who watch it. Safe to call from any thread.
package protocol StoreSpace: AnyObject, Sendable {
    /// - Returns: nil where that cannot be said, as in memory without a limit.
    var room: StoreRoom? { get }

    /// Whether nothing can be written, whoever asks for it.
    var isReadOnly: Bool { get }

    /// Bytes that count against the quota, and the quota; nil without one.
    var quota: (used: UInt64, limit: UInt64)? { get }

    /// How long waiting for a disk takes; nil for a store that waits for none.
    var syncDurations: DurationHistogram? { get }

    /// Holds to other limits from now on, as far as that can change: not whether there is a quota.
    ///
    /// - Returns: those that hold now.
    func change(_ limits: SpaceLimits) -> SpaceLimits

    /// Has somebody make room where it is missing, before anything is refused for that.
    ///
    /// - Parameter body: called on any thread, without a lock that others wait for; says whether there is more room than before.
    func whenFull(_ body: @escaping @Sendable (RoomNeed) -> Bool)

    /// Whether all calls come from one thread, so that none of them may wait for another.
    var isSerial: Bool { get }
}

/// How much room there is.
package struct StoreRoom: Equatable, Sendable {
    /// Bytes that the server may still write.
    package let free: UInt64

    /// Bytes in all.
    package let total: UInt64

    package init(free: UInt64, total: UInt64) { (self.free, self.total) = (free, total) }
}

/// How much uploads may take; nil sets no limit.
package struct SpaceLimits: Equatable, Sendable {
    /// Bytes of all that is stored, what is not complete included.
    package var quota: UInt64?

    /// Bytes that must stay free for whoever else writes to the same disk.
    package var minimumFree: UInt64?

    package init(quota: UInt64? = nil, minimumFree: UInt64? = nil) {
        self.quota = quota
        self.minimumFree = minimumFree
    }

    /// Holds to others from now on, but for a quota where there was none, or none where there was one.
    package mutating func change(to wanted: SpaceLimits) {
        if let old = quota { quota = wanted.quota ?? old }
        minimumFree = wanted.minimumFree
    }
}

extension Failure {
    /// - Parameters:
    ///   - free: bytes that are.
    ///   - least: bytes that have to be.
    package static func tooLittleFree(_ free: UInt64, least: UInt64) -> Failure {
        Failure(
            .insufficientStorage,
            "The server keeps \(least) bytes of its disk free, and \(free) are: room has to be made there, or --min-free lowered."
        )
    }
}
