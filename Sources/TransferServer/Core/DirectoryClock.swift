import TransferSystem

/// Tells how long something has been in a server's directory, by moments of UTC that were written down when it came, and whatever the
/// machine's clock was set to since: forward, which would make all too old at once, or back, which would make nothing too old for years.
///
/// The clock of its own goes as the machine's does, as long as nobody sets that. While no server looks, it goes as the machine's clock
/// goes, a day at most.
struct DirectoryClock: Equatable {
    /// A time in which nobody has set the machine's clock.
    private struct Span: Equatable {
        /// UTC, in seconds since 1970.
        var first: Int64
        var last: Int64
        /// What is added to UTC for the clock of its own.
        let offset: Int64

        func has(_ moment: Int64) -> Bool { (first...max(first, last)).contains(moment) }
    }

    /// Seconds by which the machine's clock may differ from what has passed, without having been set.
    private static let tolerance: Int64 = 60

    /// Seconds that pass at most while no server looks.
    private static let mostUnseen: Int64 = 86_400

    /// Times that the clock was set are remembered for so many spans.
    private static let mostSpans = 64

    private var spans: [Span] = []
    /// The run of the kernel in which somebody has looked last, and its age then, in seconds.
    private var boot = ""
    private var age: Int64 = 0

    init() {}

    /// Notes what the machine's clock says.
    ///
    /// - Parameters:
    ///   - utc: seconds since 1970.
    ///   - boot: which run of the kernel this is.
    ///   - age: its age in seconds, suspended time included.
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

    /// Seconds for which something has been there. Where it may have come at several moments, at the last of them.
    ///
    /// - Parameter moment: when it came, by the machine's clock: seconds since 1970.
    func age(of moment: Int64) -> Int64 {
        guard let first = spans.first, let last = spans.last else { return 0 }
        let now = last.last.addingClamped(last.offset)
        return now.subtractingClamped(min(now, own(moment, first)))
    }

    private func own(_ moment: Int64, _ first: Span) -> Int64 {
        let known = spans.lazy.filter { $0.has(moment) }.map { moment.addingClamped($0.offset) }.max()
        if let known { return known }
        if moment < first.first { return moment.addingClamped(first.offset) }
        // Nobody has seen that moment. It was before the next one that somebody has seen.
        let next = spans.filter { $0.first > moment }.min { $0.first < $1.first }
        return next.map { $0.first.addingClamped($0.offset) } ?? .max
    }
}

// MARK: Written down

extension DirectoryClock {
    /// A line with the run of the kernel and its age, and one for each span.
    var text: String {
        let lines = spans.map { "\($0.first) \($0.last) \($0.offset)" }
        return (["\(boot.isEmpty ? "unknown" : boot) \(age)"] + lines).joined(separator: "\n") + "\n"
    }

    /// - Returns: nil for a text that is not one.
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
