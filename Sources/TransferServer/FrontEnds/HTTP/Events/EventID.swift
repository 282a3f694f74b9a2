import TransferModel

/// A place among the events of a server, as clients say it: which server it was, and the number of the event.
struct EventID: Equatable, Sendable {
    let epoch: UInt64
    let number: UInt64

    init(epoch: UInt64, number: UInt64) {
        (self.epoch, self.number) = (epoch, number)
    }

    /// - Returns: nothing for what `text` does not give.
    init?(_ text: some Collection<UInt8>) {
        let parts = text.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ (1...20).contains($0.count) }),
            // A sign would be taken for part of a number.
            !text.contains(UInt8(ascii: "+")),
            let epoch = UInt64(String(decoding: parts[0], as: UTF8.self), radix: 16),
            let number = UInt64(String(decoding: parts[1], as: UTF8.self))
        else { return nil }
        self.init(epoch: epoch, number: number)
    }

    var text: String { "\(String(epoch, radix: 16))-\(number)" }
}
