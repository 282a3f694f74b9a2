internal import TransferClient
private import TransferModel

extension Traffic {
    /// The duration and the rate on the network, for a summary.
    ///
    /// - Returns: only the duration if no bytes were transferred, as for holes or content that the other side already
    ///   had.
    func pace(over seconds: Double) -> String {
        let time = "\(seconds.shown(decimals: 2)) s"
        guard bytes > 0 else { return time }
        // Avoids a division by zero.
        let rate = Double(bytes) / max(seconds, 1e-9)
        return "\(time) (\(ByteFormat.rate(rate)))"
    }
}
