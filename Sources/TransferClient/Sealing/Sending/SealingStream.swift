import TransferCodec
import TransferModel
import TransferSealing
import TransferSystem

/// Seals the content of another source, with secrets that are used for nothing else. Neither that source nor this one
/// can be read a second time.
///
/// `@unchecked Sendable`: `read` is called by one task at a time (`ByteSource`); a lock guards what others read.
final class SealingStream: ByteSource, @unchecked Sendable {
    private struct Seen {
        /// As much of the beginning as is needed to recognise the kind.
        var front: [UInt8] = []
        var count: UInt64 = 0
        /// Size and digest of the whole content; nil before the end.
        var content: SealedNote.Content?
    }

    private let source: any ByteSource
    private let sealer: Sealer
    private var sealed: [UInt8] = []
    private var position = 0
    private var hasEnded = false
    private var piece = [UInt8](repeating: 0, count: 64 << 10)
    private let digester = ContentDigester(SealedNote.digestFunction)
    private let seen = Locked(Seen())

    init(_ source: any ByteSource, for recipients: [SealingRecipient]) throws(Failure) {
        self.source = source
        sealer = try Failure.whileSealing { () throws(SealingError) in try Sealer(streamFor: recipients) }
    }

    var tag: SealedTag { sealer.tag }

    /// The kind of the content, according to what was read so far.
    var kind: ContentKind {
        seen.withLock { seen in
            seen.front.withUnsafeBytes {
                ContentKind(recognising: $0, isWhole: seen.content != nil && seen.count == $0.count)
            }
        }
    }

    /// Size and digest of the content; nil before all of it was read.
    var content: SealedNote.Content? { seen.withLock { $0.content } }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        while position == sealed.count {
            guard !hasEnded else { return 0 }
            try seal()
        }
        let count = min(buffer.count, sealed.count - position)
        sealed.withUnsafeBytes {
            buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[position..<position + count]))
        }
        position += count
        return count
    }

    private func seal() throws {
        sealed.removeAll(keepingCapacity: true)
        position = 0
        let given = try piece.withUnsafeMutableBytes { try source.read(into: $0) }
        // A program's source may return any number; it is clamped to the buffer.
        let count = min(max(0, given), piece.count)
        piece.withUnsafeBytes { digester.update(UnsafeRawBufferPointer(rebasing: $0[..<count])) { _, _ in } }
        hasEnded = count == 0
        let digest = hasEnded ? digester.finish().digest : nil
        seen.withLock { seen in
            seen.front += piece[..<min(count, ContentKind.sampleSize - seen.front.count)]
            seen.count += UInt64(count)
            seen.content = digest.map { SealedNote.Content(size: seen.count, digest: $0) }
        }
        guard count > 0 else { return try sealer.finish(into: &sealed) }
        try piece.withUnsafeBytes {
            try sealer.seal(UnsafeRawBufferPointer(rebasing: $0[..<count]).bytes, into: &sealed)
        }
    }
}
