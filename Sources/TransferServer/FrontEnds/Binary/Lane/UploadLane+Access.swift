import TransferAccess
import TransferIntake
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
        return resources.gate?.recheck(&intake.caller)
    }
}
