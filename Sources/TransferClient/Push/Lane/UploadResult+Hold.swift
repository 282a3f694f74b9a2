import TransferModel
import TransferProtocol

extension UploadResult {
    /// How long a server can make the client wait with a retry-after; more is a mistake.
    private static let longestHold: UInt32 = 30_000

    /// Milliseconds before a server that is busy and doesn't say for how long is asked again, or one to which somebody else sends the same;
    /// doubled each time.
    private static let shortestHold: UInt32 = 50

    /// Until it is 25.6 seconds.
    private static let mostDoublings = 9

    /// How long to begin nothing before the upload is tried again.
    ///
    /// - Parameter attempt: from 1.
    /// - Returns: nothing where there is no reason to wait.
    func hold(attempt: Int) -> Interval? {
        let pause = Self.shortestHold << min(max(0, attempt), Self.mostDoublings)
        let milliseconds = min(retryAfter ?? (code == .busy || code == .incomplete ? pause : 0), Self.longestHold)
        return milliseconds > 0 ? .milliseconds(Int64(milliseconds)) : nil
    }
}
