import TransferCodec
import TransferModel
import TransferSealing

/// Opens the content of a delivery that is read block by block.
///
/// It belongs to one task at a time.
final class ReadOpening {
    private let note: DeliveryNote?
    private let opener: Opener
    private var size: UInt64 = 0
    private let digester = ContentDigester(SealedNote.digestFunction)

    /// Without a note: the sealed bytes that were received before any content could be opened. If they cannot be
    /// opened, they are passed on as they are. A header of up to 64 KiB and one chunk precede the first content, so at
    /// most these and a little more than a block are held.
    private var held: [UInt8] = []
    private var isPassedOn = false

    init(_ seal: ContentSeal) {
        note = seal.note
        opener = Opener([seal.key], atMost: seal.note?.size ?? .max)
    }

    /// - Parameter block: the next sealed bytes.
    /// - Returns: the content that is verified so far; may be empty.
    func take(_ block: [UInt8]) throws(Failure) -> [UInt8] {
        guard !isPassedOn else { return block }
        if mayBePassedOn { held += block }
        return try opened { (output) throws(SealingError) in try opener.open(block.span.bytes, into: &output) }
    }

    /// - Returns: the rest of the content.
    /// - Throws: `unopened` if the content is not complete.
    func finish() throws(Failure) -> [UInt8] {
        guard !isPassedOn else { return [] }
        let rest = try opened { (output) throws(SealingError) in try opener.finish(into: &output) }
        guard !isPassedOn, let note else { return rest }
        guard note.size == size, note.digest == digester.finish().digest else { throw .otherContent }
        return rest
    }

    /// Whether the content was sealed and was opened; valid at the end.
    var isOpened: Bool { !isPassedOn }

    private var mayBePassedOn: Bool { note == nil && size == 0 }

    private func opened(_ open: (inout [UInt8]) throws(SealingError) -> Void) throws(Failure) -> [UInt8] {
        var output: [UInt8] = []
        do throws(SealingError) {
            try open(&output)
        } catch {
            guard mayBePassedOn else { throw .unopened(error, "Its content") }
            isPassedOn = true
            defer { held = [] }
            return held
        }
        if let note, let tag = opener.tag, note.tag != tag { throw .otherContent }
        size += UInt64(output.count)
        if note != nil { output.withUnsafeBytes { digester.update($0) { _, _ in } } }
        if !mayBePassedOn { held = [] }
        return output
    }
}
