package import TransferModel
package import TransferSystem

/// The room of a store, its limits and its state, for readiness checks, metrics and commands. Safe to call from any
/// thread.
package protocol StoreSpace: AnyObject, Sendable {
    /// - Returns: nil if it is unknown, as in memory without a limit.
    var room: StoreRoom? { get }

    /// Whether nothing can be written, for any client.
    var isReadOnly: Bool { get }

    /// Bytes that count against the quota, and the quota; nil without one.
    var quota: (used: UInt64, limit: UInt64)? { get }

    /// How long syncs take; nil for a store that waits for no disk.
    var syncDurations: DurationHistogram? { get }

    /// Sets other limits. A quota can be changed, but not added or removed.
    ///
    /// - Returns: the limits that are valid now.
    func change(_ limits: SpaceLimits) -> SpaceLimits

    /// Sets the handler that makes room when there is too little, before anything is refused.
    ///
    /// - Parameter body: called on any thread, without a lock that others wait for; returns whether it has made any
    ///   room.
    func whenFull(_ body: @escaping @Sendable (RoomNeed) -> Bool)

    /// Whether all calls come from one thread, so that no call may wait for another.
    var isSerial: Bool { get }
}

/// The room of a store in bytes.
package struct StoreRoom: Equatable, Sendable {
    /// Bytes that the server may still write.
    package let free: UInt64

    /// Bytes of the whole store.
    package let total: UInt64

    package init(free: UInt64, total: UInt64) { (self.free, self.total) = (free, total) }
}

/// The limits of a store; nil sets no limit.
package struct SpaceLimits: Equatable, Sendable {
    /// Bytes of everything that is stored, including unfinished uploads.
    package var quota: UInt64?

    /// Bytes that must stay free for other programs that write to the same disk.
    package var minimumFree: UInt64?

    package init(quota: UInt64? = nil, minimumFree: UInt64? = nil) {
        self.quota = quota
        self.minimumFree = minimumFree
    }

    /// Takes over other limits, but neither adds nor removes a quota.
    package mutating func change(to wanted: SpaceLimits) {
        if let old = quota { quota = wanted.quota ?? old }
        minimumFree = wanted.minimumFree
    }
}

extension Failure {
    /// - Parameters:
    ///   - free: bytes that are free.
    ///   - least: bytes that have to be free.
    package static func tooLittleFree(_ free: UInt64, least: UInt64) -> Failure {
        Failure(
            .insufficientStorage,
            "The server keeps \(least) bytes of its disk free, and only \(free) are free: remove files "
                + "there, or lower --min-free."
        )
    }
}
