import Glibc
import TransferModel
import TransferSealing
import TransferSystem

/// A file that is to be sealed, told from what it is after any change.
struct SealedSource: Sendable {
    let place: SourcePlace
    let file: SourceFile.Identity

    /// When anything about it last changed, which no program can set back.
    let changed: Timestamp

    /// What was in it when it was looked at.
    let content: PieceDigests

    let permissions: UInt16
    let kind: ContentKind

    /// Nanoseconds that a file has to be left alone before it is looked at. Kernels take the time of a change from a clock
    /// that stands still for up to 10 ms (CONFIG_HZ=100): two changes in that time look like one, and one secret would seal
    /// two contents.
    private static let rest: Int64 = 20_000_000

    /// Looks at a file that changes right now, before it is given up.
    private static let mostLooks = 10

    /// Looks at a file, and reads all of it. Blocks for a moment when it was changed just now.
    ///
    /// - Parameter kind: nothing to find it out.
    /// - Throws: `sourceUnreadable`, `sourceSkipped`; `sourceChanged` when it does not come to rest.
    init(_ place: SourcePlace, kind: ContentKind?) throws(Failure) {
        for _ in 0..<Self.mostLooks {
            let source = try SourceFile(place)
            // Each by itself: a time to come, of another clock or set by somebody, says nothing of the other.
            let ages = [Self.age(of: source.modified), Self.age(of: source.changed)]
            if let age = ages.filter({ (0..<Self.rest).contains($0) }).min() {
                usleep(useconds_t(truncatingIfNeeded: (Self.rest - age) / 1000 + 1))
                continue
            }
            let digests = try PieceDigests(of: source)
            guard source.isUntouched else { continue }
            content = digests
            (self.place, file, changed) = (place, source.identity, source.changed)
            permissions = source.permissions
            self.kind = kind ?? source.kind
            return
        }
        throw .changed
    }

    /// Nanoseconds; negative for a time to come.
    private static func age(of time: Timestamp) -> Int64 {
        Timestamp.now.nanosecondsClamped.subtractingReportingOverflow(time.nanosecondsClamped).partialValue
    }

    /// What secrets are bound to.
    var binding: SealingSource {
        var context: [UInt8] = []
        context.append(bigEndian: UInt64(truncatingIfNeeded: file.device))
        context.append(bigEndian: UInt64(truncatingIfNeeded: file.inode))
        for time in [file.modified, changed] {
            context.append(bigEndian: time.seconds)
            context.append(bigEndian: time.nanoseconds)
        }
        return SealingSource(size: file.size, context: context + content.digest)
    }

    /// - Throws: `sourceChanged` when it is not what it was.
    func open(_ range: Range<UInt64>) throws(Failure) -> SourceFile {
        let source = try SourceFile(place, range: range)
        guard isSame(as: source) else { throw .changed }
        return source
    }

    func isSame(as source: SourceFile) -> Bool { source.identity == file && source.changed == changed }
}

extension SourceFile {
    fileprivate var kind: ContentKind {
        var front = [UInt8](repeating: 0, count: ContentKind.sampleSize)
        let count = front.withUnsafeMutableBytes { peek(into: $0) }
        return front.prefix(count).withUnsafeBytes { ContentKind(recognising: $0, isWhole: $0.count < front.count) }
    }
}

extension Timestamp {
    /// Since 1970, as far as a number goes.
    fileprivate var nanosecondsClamped: Int64 {
        let (product, isOver) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, isOverToo) = product.addingReportingOverflow(Int64(nanoseconds))
        return isOver || isOverToo ? (seconds < 0 ? .min : .max) : sum
    }
}
