/// Compresses frames, each into a separate zlib stream (RFC 1950).
///
/// One task at a time may use it. It holds 256 to 421 KiB, so make few and reuse them.
package final class Deflater: DeflateEngine {
    private let engine: any DeflateEngine

    /// Makes a deflater of level 0 (stored) to 9 (smallest), or -1 for zlib's default.
    ///
    /// Levels have zlib's scale. `engine`, which must be available, compresses at levels 1...3, and zlib at all others.
    package init(level: Int, engine: CompressionEngine = .automatic) {
        // Trap: this program chooses the levels, and the command line checks levels of users.
        precondition((-1...9).contains(level), "zlib has no level \(level)")
        switch engine {
        case .isal where ISALDeflateEngine.levels.contains(level):
            // Trap: callers have asked `isAvailable`, whose answer never changes in a process.
            guard let library = ISALibrary.installed else { preconditionFailure("ISA-L is not there") }
            self.engine = ISALDeflateEngine(library, level: level)
        case .isal, .zlib:
            self.engine = ZlibDeflateEngine(level: level)
        }
    }

    /// Compresses `input` into `output` as one whole stream and returns its length in bytes, or nil if it does not fit.
    ///
    /// A caller makes `output` shorter than `input` to demand a saving; if the result is nil, it sends the content
    /// uncompressed. Both buffers are shorter than 4 GiB.
    package func deflate(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Int? {
        guard !output.isEmpty else { return nil }
        return engine.deflate(input, into: output)
    }
}

/// One library's compressor, with the state that it keeps between frames.
protocol DeflateEngine: AnyObject {
    /// Compresses `input` into `output`, which is not empty, as one whole stream of the library's format. Returns its
    /// length in bytes, or nil if it does not fit. A zlib stream fits even if it is exactly as long as `output`. Both
    /// buffers are shorter than 4 GiB.
    func deflate(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Int?
}
