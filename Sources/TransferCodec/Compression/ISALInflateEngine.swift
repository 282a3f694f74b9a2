internal import CISAL

/// Inflates with ISA-L; holds 85 KiB.
///
/// Two differences from zlib remain. ISA-L inflates beyond the available room, so damage may be reported earlier. And
/// it accepts streams with incomplete Huffman codes, which zlib calls damaged; the checksum is verified in any case.
final class ISALInflateEngine: InflateEngine {
    private let library: ISALibrary
    private let memory: UnsafeMutableRawPointer

    init(_ library: ISALibrary) {
        self.library = library
        let size = cisal_inflate_size()
        memory = .allocate(byteCount: size, alignment: 64)
        memory.initializeMemory(as: UInt8.self, repeating: 0, count: size)
        cisal_inflate_init(library.functions, memory)
    }

    /// Whether the library has written only to the memory that it may use.
    var keepsLimits: Bool { cisal_inflate_keeps_limits(memory) }

    deinit {
        memory.deallocate()
    }

    func begin() {
        cisal_inflate_reset(library.functions, memory)
    }

    func inflate(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> InflateStep {
        // An empty buffer may have no address, but ISA-L needs one for its computations.
        let start = input.baseAddress ?? UnsafeRawPointer(memory)
        let step = cisal_inflate(
            library.functions, memory, start.assumingMemoryBound(to: UInt8.self), UInt32(input.count),
            output.baseAddress, UInt32(output.count))
        let outcome: InflateStep.Outcome = step.is_corrupt ? .corrupt : step.is_complete ? .complete : .more
        return InflateStep(outcome: outcome, read: Int(step.read), written: Int(step.written))
    }
}
