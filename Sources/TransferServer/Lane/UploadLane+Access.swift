import TransferAccess
import TransferModel
import TransferProtocol
import TransferStore
import TransferSystem

/// What the lane's client may do.
extension UploadLane {
    /// Nanoseconds after which it is asked again whether a stream may go on. What begins is always asked about.
    private static let accessHolds: Int64 = 100_000_000

    /// Whether what the client may do need not be asked for again.
    var isAccessFresh: Bool { monotonicNanoseconds() - accessAsked < Self.accessHolds }

    /// Asks again before every batch in which something begins: an access that was taken back ends with the next upload.
    ///
    /// - Returns: why the client may do nothing any more.
    func recheck() -> Refusal? {
        accessAsked = monotonicNanoseconds()
        return context.recheck(&client) { context.quotas.quota(for: $0) }
    }

    /// Before anything else is done about an upload: lets it have its place in the server's directory.
    func authorize(_ receiving: Receiving) throws(StoreError) {
        if let refusal = outcome.refusal { throw StoreError(refusal.code, refusal.message) }
        receiving.begin.path = try client.place(receiving.begin.path)
    }
}
