internal import TransferSystem

/// Compares ISA-L with zlib before ISA-L is used: each must read the output of the other, ISA-L must detect damage, and
/// it must write no byte outside the available memory, as it would if a structure had another layout than in the
/// header.
struct ISALTrial {
    /// Sizes of content in bytes. They are small, because zlib is slow and a client waits for the trial when it first
    /// compresses.
    private static let counts = [0, 1, 300, 4097]

    private let library: ISALibrary
    private let reference = (deflate: ZlibDeflateEngine(level: 1), inflate: ZlibInflateEngine())

    init(_ library: ISALibrary) {
        self.library = library
    }

    func run(_ counts: [Int] = counts) throws(LibraryRefusal) {
        let inflater = ISALInflateEngine(library)
        let contents = counts.map { Self.content($0) }
        for content in contents { try read(content, inflater) }
        for level in ISALDeflateEngine.levels {
            let deflater = ISALDeflateEngine(library, level: level)
            for content in contents { try write(content, deflater, inflater) }
            guard deflater.keepsLimits else { throw .unfit("it needs more room than there is") }
        }
        guard inflater.keepsLimits else { throw .unfit("it needs more room than there is") }
    }

    /// Alternating runs of repeated and random bytes.
    private static func content(_ count: Int) -> [UInt8] {
        var state: UInt32 = 1
        return (0..<count).map { place in
            state = state &* 1_664_525 &+ 1_013_904_223
            return place & 64 == 0 ? UInt8(truncatingIfNeeded: place & 7) : UInt8(truncatingIfNeeded: state >> 24)
        }
    }

    private func read(_ content: [UInt8], _ inflater: ISALInflateEngine) throws(LibraryRefusal) {
        guard let stream = deflated(content, reference.deflate, room: Self.room(content)),
            inflated(stream, inflater, content.count) == content
        else { throw .unfit("it doesn't read what zlib deflates") }
    }

    private func write(
        _ content: [UInt8], _ deflater: ISALDeflateEngine, _ inflater: ISALInflateEngine
    ) throws(LibraryRefusal) {
        guard var stream = deflated(content, deflater, room: Self.room(content)),
            inflated(stream, reference.inflate, content.count) == content
        else { throw .unfit("zlib doesn't read what it deflates") }
        guard deflated(content, deflater, room: stream.count - 1) == nil else {
            throw .unfit("it deflates into no room")
        }
        stream[stream.count - 1] ^= 1
        guard inflated(stream, inflater, content.count) == nil else {
            throw .unfit("it takes damaged streams for whole")
        }
    }

    /// More bytes than any stream of this content needs.
    private static func room(_ content: [UInt8]) -> Int { content.count + content.count / 8 + 64 }

    /// - Returns: nil if the stream doesn't fit, or if bytes were written beyond the room.
    private func deflated(_ content: [UInt8], _ engine: some DeflateEngine, room: Int) -> [UInt8]? {
        Self.filled(room) { output in content.withUnsafeBytes { engine.deflate($0, into: output) } }
    }

    /// - Returns: nil unless `stream` is one whole stream with `count` bytes of content.
    private func inflated(_ stream: [UInt8], _ engine: some InflateEngine, _ count: Int) -> [UInt8]? {
        engine.begin()
        // One spare byte, so that excess output is detected.
        let content = Self.filled(count + 1) { output in
            let step = stream.withUnsafeBytes { engine.inflate($0, into: output) }
            return step.outcome == .complete && step.read == stream.count ? step.written : nil
        }
        return content?.count == count ? content : nil
    }

    /// - Returns: nil if `body` returns nil or has written beyond the room.
    private static func filled(_ room: Int, _ body: (UnsafeMutableRawBufferPointer) -> Int?) -> [UInt8]? {
        let spare = 64
        var memory = [UInt8](repeating: 0xA5, count: room + spare)
        let count = memory.withUnsafeMutableBytes { body(UnsafeMutableRawBufferPointer(rebasing: $0[..<room])) }
        guard let count, count <= room, memory[room...].allSatisfy({ $0 == 0xA5 }) else { return nil }
        return Array(memory[..<count])
    }
}
