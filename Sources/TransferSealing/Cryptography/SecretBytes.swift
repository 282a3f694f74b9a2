internal import COpenSSL
import Glibc

/// Secret bytes in separate memory, which is overwritten before it is freed. An array would leave copies behind when it
/// grows or is shared.
///
/// `@unchecked Sendable`: the bytes are written before the initialiser returns, and only read afterwards.
final class SecretBytes: @unchecked Sendable {
    private let memory: UnsafeMutableRawBufferPointer

    var count: Int { memory.count }

    /// - Parameter fill: overwrites zeros with the secret.
    init(
        count: Int, _ fill: (UnsafeMutableRawBufferPointer) throws(SealingError) -> Void
    ) throws(SealingError) {
        memory = .allocate(byteCount: count, alignment: 16)
        memory.initializeMemory(as: UInt8.self, repeating: 0)
        try fill(memory)
    }

    init(_ bytes: some Collection<UInt8>) {
        memory = .allocate(byteCount: bytes.count, alignment: 16)
        memory.copyBytes(from: bytes)
    }

    deinit {
        OPENSSL_cleanse(memory.baseAddress, memory.count)
        memory.deallocate()
    }

    /// Makes random bytes with the kernel's generator.
    ///
    /// - Parameter count: at most 256 (getentropy(3)).
    static func random(_ count: Int) throws(SealingError) -> SecretBytes {
        try SecretBytes(count: count) { (memory) throws(SealingError) in
            guard getentropy(memory.baseAddress, memory.count) == 0 else { throw .failed("getentropy") }
        }
    }

    func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(memory))
    }

    /// Compares in constant time (CRYPTO_memcmp(3)).
    func hasSameBytes(as other: SecretBytes) -> Bool {
        count == other.count && CRYPTO_memcmp(memory.baseAddress, other.memory.baseAddress, count) == 0
    }

    /// Whether all bytes are zero, computed in constant time.
    var isZero: Bool { memory.reduce(0, |) == 0 }
}
