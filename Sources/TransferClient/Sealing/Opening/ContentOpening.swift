import TransferCodec
import TransferModel
import TransferSealing
import TransferPorts
import TransferStore

/// Opens a sealed file that is complete and verified into another staged file.
///
/// It belongs to one task at a time.
final class ContentOpening {
    /// Why the file could not be opened.
    enum Obstacle: Error {
        case seal(SealingError)
        case local(Failure)
    }

    /// The complete content that was opened.
    struct Opened {
        let staged: StagedFile
        let size: UInt64
        let digest: Digest
    }

    /// Bytes that are read and opened at once.
    private static let readSize = 256 << 10

    private let note: DeliveryNote?
    private let sealed: StagedFile
    private let sealedSize: UInt64
    private let opener: Opener
    private let digester: ContentDigester
    private let stage: (_ size: UInt64) throws(Failure) -> StagedFile
    private var staged: StagedFile?
    private var size: UInt64 = 0
    private var output: [UInt8] = []

    /// - Parameters:
    ///   - sealed: the sealed file, which has `size` bytes and is not changed.
    ///   - function: hashes the opened content if there is no note. With a note, the digest function of notes is used.
    ///   - stage: makes the staged file for the opened content, with room for at least `size` bytes.
    init(
        _ seal: ContentSeal, _ sealed: StagedFile, size: UInt64, _ function: DigestFunction,
        stage: @escaping (_ size: UInt64) throws(Failure) -> StagedFile
    ) {
        (note, self.sealed, sealedSize, self.stage) = (seal.note, sealed, size, stage)
        opener = Opener([seal.key], atMost: seal.note?.size ?? .max)
        digester = ContentDigester(seal.note == nil ? function : SealedNote.digestFunction)
    }

    /// Opens the whole file. To be called once.
    func run() throws(Obstacle) -> Opened {
        // A note must not reserve more space than the sealed file can contain.
        guard note?.size ?? 0 <= sealedSize else { throw .local(.otherContent) }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.readSize, alignment: 4096)
        defer { buffer.deallocate() }
        var offset: UInt64 = 0
        while offset < sealedSize {
            let room = Int(min(UInt64(Self.readSize), sealedSize - offset))
            let count = try local { () throws(Failure) in
                try sealed.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<room]), at: offset)
            }
            // The file was shortened after it was verified.
            guard count == room else { throw .seal(.truncated) }
            try seal { () throws(SealingError) in
                try opener.open(UnsafeRawBufferPointer(rebasing: buffer[..<count]).bytes, into: &output)
            }
            try pass()
            offset += UInt64(count)
        }
        try seal { () throws(SealingError) in try opener.finish(into: &output) }
        try pass()
        let digest = digester.finish().digest
        guard let staged, note?.size ?? size == size, note?.digest ?? digest == digest else {
            throw .local(.otherContent)
        }
        return Opened(staged: staged, size: size, digest: digest)
    }

    /// Writes the opened content, but only after the tag has shown that the note belongs to it.
    private func pass() throws(Obstacle) {
        guard let tag = opener.tag else { return }
        guard note?.tag ?? tag == tag else { throw .local(.otherContent) }
        let staged = try place()
        try write(output, to: staged)
        size += UInt64(output.count)
        output.removeAll(keepingCapacity: true)
    }

    private func write(_ bytes: [UInt8], to staged: StagedFile) throws(Obstacle) {
        try bytes.span.bytes.withUnsafeBytes { (bytes) throws(Obstacle) in
            digester.update(bytes) { _, _ in }
            try local { () throws(Failure) in try staged.write(bytes, at: size) }
        }
    }

    private func place() throws(Obstacle) -> StagedFile {
        if let staged { return staged }
        let least = note?.size ?? ContentSeal.leastContent(sealedSize)
        let made = try local { () throws(Failure) in try stage(least) }
        staged = made
        return made
    }

    private func seal(_ body: () throws(SealingError) -> Void) throws(Obstacle) {
        do throws(SealingError) { try body() } catch { throw .seal(error) }
    }

    private func local<Value>(_ body: () throws(Failure) -> Value) throws(Obstacle) -> Value {
        do throws(Failure) {
            return try body()
        } catch {
            throw .local(error.local)
        }
    }
}

extension Failure {
    /// The note belongs to other content: it was attached to the wrong content, or its sender sealed something else.
    static let otherContent = Failure(
        .unopened, "The content does not match its sender's note.")
}
