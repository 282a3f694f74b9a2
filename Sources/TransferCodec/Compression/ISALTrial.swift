internal import TransferSystem

/// Compares ISA-L with zlib before it is used: each reads what the other wrote, damage is noticed, and nothing is written
/// beside what there is room for. It would be if a structure of the library had another layout than the header.
struct ISALTrial {
    /// Bytes of content. No more than that: zlib takes its time, and a client pays for this when it first compresses.
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

    /// Repeated and drawn bytes by turns.
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

    /// More than any stream of it takes.
    private static func room(_ content: [UInt8]) -> Int { content.count + content.count / 8 + 64 }

    /// - Returns: nothing if it doesn't fit, or if more was written than that.
    private func deflated(_ content: [UInt8], _ engine: some DeflateEngine, room: Int) -> [UInt8]? {
        Self.filled(room) { output in content.withUnsafeBytes { engine.deflate($0, into: output) } }
    }

    /// - Returns: nothing but one whole stream of content of so many bytes.
    private func inflated(_ stream: [UInt8], _ engine: some InflateEngine, _ count: Int) -> [UInt8]? {
        engine.begin()
        // A byte more than wanted, so that there is room for none.
        let content = Self.filled(count + 1) { output in
            let step = stream.withUnsafeBytes { engine.inflate($0, into: output) }
            return step.outcome == .complete && step.read == stream.count ? step.written : nil
        }
        return content?.count == count ? content : nil
    }

    /// - Returns: nothing if `body` does, or has written behind its room.
    private static func filled(_ room: Int, _ body: (UnsafeMutableRawBufferPointer) -> Int?) -> [UInt8]? {
        let spare = 64
        var memory = [UInt8](repeating: 0xA5, count: room + spare)
        let count = memory.withUnsafeMutableBytes { body(UnsafeMutableRawBufferPointer(rebasing: $0[..<room])) }
        guard let count, count <= room, memory[room...].allSatisfy({ $0 == 0xA5 }) else { return nil }
        return Array(memory[..<count])
    }
}
