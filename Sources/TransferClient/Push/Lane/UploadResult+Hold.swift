import TransferModel
import TransferProtocol

extension UploadResult {
    /// The most milliseconds for which the client waits at the server's request; a server that asks for more is
    /// probably wrong.
    private static let longestHold: UInt32 = 30_000

    /// Half of the first pause, in milliseconds, after `busy` without a time or after `incomplete`, when another client
    /// is sending the same upload; each pause is twice the last.
    private static let shortestHold: UInt32 = 50

    /// The most doublings: the longest pause is 25.6 seconds.
    private static let mostDoublings = 9

    /// How long the lane begins no uploads before it tries this one again.
    ///
    /// - Parameter attempt: the number of the attempt that failed, from 1.
    /// - Returns: nil if there is no reason to wait.
    func hold(attempt: Int) -> Interval? {
        let pause = Self.shortestHold << min(max(0, attempt), Self.mostDoublings)
        let milliseconds = min(retryAfter ?? (code == .busy || code == .incomplete ? pause : 0), Self.longestHold)
        return milliseconds > 0 ? .milliseconds(Int64(milliseconds)) : nil
    }
}
