internal import CISAL

/// Deflates with ISA-L. Holds 356 KiB at level 1, and up to 421 KiB at the other levels.
final class ISALDeflateEngine: DeflateEngine {
    /// On log text, ISA-L's output at levels 1 to 3 is no larger than zlib's (docs/PERFORMANCE.md). It has no
    /// equivalent of zlib's higher levels, and its level 0 compresses, while zlib's stores.
    static let levels = 1...3

    private let library: ISALibrary
    private let level: UInt32
    private let memory: UnsafeMutableRawPointer

    init(_ library: ISALibrary, level: Int) {
        // Trap: Deflater uses this engine only for these levels.
        precondition(Self.levels.contains(level), "ISA-L has no level \(level)")
        self.library = library
        self.level = UInt32(level)
        let size = cisal_deflate_size(self.level)
        memory = .allocate(byteCount: size, alignment: 64)
        memory.initializeMemory(as: UInt8.self, repeating: 0, count: size)
        cisal_deflate_init(library.functions, memory, self.level)
    }

    /// Whether the library has written only to the memory that it may use.
    var keepsLimits: Bool { cisal_deflate_keeps_limits(memory, level) }

    deinit {
        memory.deallocate()
    }

    func deflate(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> Int? {
        let length = cisal_deflate(
            library.functions, memory, level, input.baseAddress ?? UnsafeRawPointer(memory), UInt32(input.count),
            output.baseAddress, UInt32(output.count))
        return length == 0 ? nil : Int(length)
    }
}
