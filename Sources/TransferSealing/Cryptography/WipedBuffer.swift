internal import COpenSSL

/// Memory for one chunk of plaintext, filled from the front, and overwritten before it is freed.
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

    /// The whole memory, whatever it contains.
    var room: UnsafeMutableRawBufferPointer { memory }

    /// The content; valid until it changes.
    var content: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: memory[..<count]) }

    /// Appends as many bytes as there is room for.
    ///
    /// - Returns: the number of appended bytes.
    func append(_ bytes: UnsafeRawBufferPointer) -> Int {
        let part = UnsafeRawBufferPointer(rebasing: bytes.prefix(memory.count - count))
        UnsafeMutableRawBufferPointer(rebasing: memory[count...]).copyMemory(from: part)
        count += part.count
        return part.count
    }

    /// Makes the buffer empty without overwriting the memory, which the next content does.
    func clear() {
        count = 0
    }

    func wipe() {
        OPENSSL_cleanse(memory.baseAddress, memory.count)
        count = 0
    }
}
