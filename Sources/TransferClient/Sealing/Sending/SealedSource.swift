import Glibc
import TransferModel
import TransferSealing
import TransferSystem

/// A file that is to be sealed, with all that shows whether it has changed.
struct SealedSource: Sendable {
    let place: SourcePlace
    let file: SourceFile.Identity

    /// The file's time of change (ctime), which no program can set back.
    let changed: Timestamp

    /// Digests of the content when it was first read.
    let content: PieceDigests

    let permissions: UInt16
    let kind: ContentKind

    /// Nanoseconds that a file must have been unchanged before it is read. Kernels take the time of a change from a
    /// clock that advances every 10 ms or less (CONFIG_HZ=100): two changes in that time look like one, and one secret
    /// would seal two contents.
    private static let rest: Int64 = 20_000_000

    /// Attempts to read a file that is changing before `sourceChanged` is thrown.
    private static let mostLooks = 10

    /// Reads a whole file. Blocks for a moment if the file has just changed.
    ///
    /// - Parameter kind: nil to recognise the kind from the content.
    /// - Throws: `sourceUnreadable`, `sourceSkipped`; `sourceChanged` if the file keeps changing.
    init(_ place: SourcePlace, kind: ContentKind?) throws(Failure) {
        for _ in 0..<Self.mostLooks {
            let source = try SourceFile(place)
            // Look at each time separately: a time in the future, from another clock or set by a program, says nothing
            // about the other time.
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

    /// Nanoseconds since a time; negative if it is in the future.
    private static func age(of time: Timestamp) -> Int64 {
        Timestamp.now.nanosecondsClamped.subtractingReportingOverflow(time.nanosecondsClamped).partialValue
    }

    /// The properties of the file that secrets are bound to.
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

    /// - Throws: `sourceChanged` if the file has changed.
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
    /// Nanoseconds since 1970, clamped to the range of the type.
    fileprivate var nanosecondsClamped: Int64 {
        let (product, isOver) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, isOverToo) = product.addingReportingOverflow(Int64(nanoseconds))
        return isOver || isOverToo ? (seconds < 0 ? .min : .max) : sum
    }
}
