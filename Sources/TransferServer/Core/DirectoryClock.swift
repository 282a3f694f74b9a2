import TransferSystem

/// Tells how long something has been in a server's directory. Files have the UTC of the moment at which they arrived, and the machine's
/// clock may have been set since: forward, which would make everything too old at once, or back, which would make nothing too old for
/// years.
///
/// This clock runs with the machine's clock, except when that is set. From one boot to the next, it advances as the machine's clock does,
/// but by a day at most.
struct DirectoryClock: Equatable {
    /// A period in which the machine's clock was not set.
    private struct Span: Equatable {
        /// UTC, in seconds since 1970.
        var first: Int64
        var last: Int64
        /// Seconds to add to UTC to get the time of this clock.
        let offset: Int64

        func has(_ moment: Int64) -> Bool { (first...max(first, last)).contains(moment) }
    }

    /// Seconds by which the machine's clock may differ from the time that has passed and still counts as not set.
    private static let tolerance: Int64 = 60

    /// Most seconds by which the clock advances from the last look of one boot to the first of the next.
    private static let mostUnseen: Int64 = 86_400

    /// Most spans that are kept; the oldest are forgotten.
    private static let mostSpans = 64

    private var spans: [Span] = []
    /// The boot ID at the last look, and the seconds since that boot.
    private var boot = ""
    private var age: Int64 = 0

    init() {}

    /// Notes the time of the machine's clock.
    ///
    /// - Parameters:
    ///   - utc: seconds since 1970.
    ///   - boot: ID of the current boot.
    ///   - age: seconds since that boot, including time in suspension.
    mutating func look(utc: Int64, boot: String, age: Int64) {
        defer { (self.boot, self.age) = (boot, age) }
        guard let last = spans.last else {
            spans = [Span(first: utc, last: utc, offset: 0)]
            return
        }
        let isSameRun = boot.utf8.elementsEqual(self.boot.utf8) && age >= self.age
        let unseen = min(max(0, utc.subtractingClamped(last.last)), Self.mostUnseen)
        let passed = isSameRun ? age.subtractingClamped(self.age) : unseen
        let expected = last.last.addingClamped(passed)
        let isSet = utc.subtractingClamped(expected).magnitude > UInt64(Self.tolerance)
        guard isSet else { return spans[spans.count - 1].last = max(last.last, utc) }
        let offset = last.offset.addingClamped(expected).subtractingClamped(utc)
        spans.append(Span(first: utc, last: utc, offset: offset))
        if spans.count > Self.mostSpans { spans.removeFirst() }
    }

    /// Seconds since something arrived. If the moment occurs in several spans, because the clock was set back, the last of them counts.
    ///
    /// - Parameter moment: when it arrived, by the machine's clock: seconds since 1970.
    func age(of moment: Int64) -> Int64 {
        guard let first = spans.first, let last = spans.last else { return 0 }
        let now = last.last.addingClamped(last.offset)
        return now.subtractingClamped(min(now, own(moment, first)))
    }

    private func own(_ moment: Int64, _ first: Span) -> Int64 {
        let known = spans.lazy.filter { $0.has(moment) }.map { moment.addingClamped($0.offset) }.max()
        if let known { return known }
        if moment < first.first { return moment.addingClamped(first.offset) }
        // No span contains the moment, because no server looked at the clock then. It counts as the beginning of the next span.
        let next = spans.filter { $0.first > moment }.min { $0.first < $1.first }
        return next.map { $0.first.addingClamped($0.offset) } ?? .max
    }
}

// MARK: Stored form

extension DirectoryClock {
    /// The first line has the boot ID and the seconds since that boot; one line for each span follows.
    var text: String {
        let lines = spans.map { "\($0.first) \($0.last) \($0.offset)" }
        return (["\(boot.isEmpty ? "unknown" : boot) \(age)"] + lines).joined(separator: "\n") + "\n"
    }

    /// - Returns: nil if the text does not have this form.
    init?(_ text: String) {
        let lines = text.utf8.split(separator: UInt8(ascii: "\n")).map { line in
            line.split(separator: UInt8(ascii: " ")).map { String(Substring($0)) }
        }
        guard let head = lines.first, head.count == 2, let age = Int64(head[1]), lines.count - 1 <= Self.mostSpans
        else {
            return nil
        }
        (boot, self.age) = (head[0], age)
        for line in lines.dropFirst() {
            let numbers = line.compactMap { Int64($0) }
            guard numbers.count == 3, line.count == 3 else { return nil }
            spans.append(Span(first: numbers[0], last: numbers[1], offset: numbers[2]))
        }
    }
}

extension Int64 {
    fileprivate func addingClamped(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other > 0 ? .max : .min) : sum
    }

    fileprivate func subtractingClamped(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other > 0 ? .min : .max) : difference
    }
}
