internal import COpenSSL

/// Room for one chunk, filled from the front, and overwritten before it is given back: plaintext goes through it.
///
/// It belongs to one task at a time.
final class WipedBuffer {
    private let memory: UnsafeMutableRawBufferPointer
    private(set) var count = 0

    init(capacity: Int) {
        memory = .allocate(byteCount: capacity, alignment: 64)
        memory.initializeMemory(as: UInt8.self, repeating: 0)
    }

    deinit {
        wipe()
        memory.deallocate()
    }

    var isEmpty: Bool { count == 0 }
    var isFull: Bool { count == memory.count }

    /// All of it, whatever is in it.
    var room: UnsafeMutableRawBufferPointer { memory }

    /// What is in it; valid until it changes.
    var content: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }

    /// Takes as many bytes as there is room for.
    ///
    /// - Returns: how many.
    func append(_ bytes: UnsafeRawBufferPointer) -> Int {
        let part = UnsafeRawBufferPointer(rebasing: bytes.prefix(memory.count - count))
        UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(from: part)
        count += part.count
        return part.count
    }

    /// Takes nothing for its content; what was there is overwritten by what comes.
    func clear() {
        count = 0
    }

    func wipe() {
        OPENSSL_cleanse(memory.baseAddress, memory.count)
        count = 0
    }
}
