internal import TransferClient
private import TransferModel

extension Traffic {
    /// How long something took, and how fast bytes have travelled for it, for a summary.
    ///
    /// - Returns: no rate where nothing has travelled, as of what was there already and of holes.
    func pace(over seconds: Double) -> String {
        let time = "\(seconds.shown(decimals: 2)) s"
        guard bytes > 0 else { return time }
        // A clock that stands still makes nothing infinitely fast.
        let rate = Double(bytes) / max(seconds, 1e-9)
        return "\(time) (\(ByteFormat.rate(rate)))"
    }
}
