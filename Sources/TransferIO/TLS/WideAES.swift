#if arch(x86_64)
    internal import CIPSecMB
    internal import COpenSSL
#endif
internal import TransferSystem

/// AES-GCM from a library for processors with wide AES instructions. It encrypts some 20 GB/s, OpenSSL before 3.1 some
/// 5 GB/s. OpenSSL uses it only after it has passed a test in this process.
package enum WideAES {
    /// File name of the library.
    package static let fileName = "libIPSec_MB.so.1"

    /// The reason why the library is not used; nil if it is used. The library is loaded when TLS is first used.
    static let refusal: LibraryRefusal? = load()

    #if arch(x86_64)
        private static func load() -> LibraryRefusal? {
            guard cipsecmb_suits_processor() else { return .absent }
            do throws(LibraryRefusal) {
                let library = try open(fileName, kind: "vaes_avx512")
                try examine(library)
                guard cipsecmb_load(library) else { throw .unfit("OpenSSL doesn't take it") }
                return nil
            } catch {
                ERR_clear_error()
                return error
            }
        }

        /// - Parameter kind: the library's name for a type of processor.
        static func open(_ path: String, kind: String) throws(LibraryRefusal) -> cipsecmb_library {
            var library = cipsecmb_library()
            guard cipsecmb_open(path, kind, &library) else { throw .absent }
            return library
        }

        /// Compares the library with OpenSSL. A faulty library may crash the process, so this happens before there are
        /// connections.
        ///
        /// - Parameter counts: sizes of content to try, in bytes.
        static func examine(
            _ library: cipsecmb_library, counts: some Sequence<Int> = counts
        ) throws(LibraryRefusal) {
            var library = library
            guard library.version >> 16 == 1 else { throw .unfit("its version is \(name(of: library.version)), not 1") }
            guard cipsecmb_keeps_limits(&library, 0xA5), cipsecmb_keeps_limits(&library, 0x5A) else {
                throw .unfit("it needs more room than there is")
            }
            guard let method = EVP_CIPHER_fetch(nil, "AES-128-GCM", "provider=default") else {
                throw .unfit("there is nothing to compare it with")
            }
            defer { EVP_CIPHER_free(method) }
            for count in counts {
                guard answers(library, method, count) else { throw .unfit("it encrypts \(count) bytes otherwise") }
            }
        }

        /// Sizes around one block, and around the number of blocks that the library processes at once.
        private static let counts =
            [0, 1, 2, 15, 16, 17, 31, 32, 33, 47, 48, 63, 64, 65, 127, 128, 129]
            + [255, 256, 257, 511, 512, 513, 767, 768, 769, 1023, 1025, 1537, 2047, 2049, 4095, 4096, 4097]

        /// Sizes of associated data: that of a record's header, none, another size, and the maximum.
        private static let associatedCounts = [5, 0, 13, 64]

        private static func answers(_ library: cipsecmb_library, _ method: OpaquePointer, _ count: Int) -> Bool {
            var library = library
            var state = UInt64(truncatingIfNeeded: count) &* 0x9E37_79B9_7F4A_7C15 | 1
            let drawn = (0..<92 + count).map { _ -> UInt8 in
                // Marsaglia's xorshift: fast, and random enough for a comparison.
                state ^= state << 13
                state ^= state >> 7
                state ^= state << 17
                return UInt8(truncatingIfNeeded: state >> 32)
            }
            // Some nonces consist of ones, because the counter behind them must not carry into them.
            let nonce = count % 3 == 1 ? [UInt8](repeating: 0xFF, count: 12) : Array(drawn[16..<28])
            return withUnsafeTemporaryAllocation(byteCount: 4 * (count + 64), alignment: 64) { memory in
                drawn.withUnsafeBufferPointer { drawn in
                    nonce.withUnsafeBufferPointer { nonce in
                        guard let start = drawn.baseAddress else { return false }
                        let message = cipsecmb_message(
                            key: start, nonce: nonce.baseAddress, associated: start + 28,
                            associated_count: associatedCounts[count % associatedCounts.count], content: start + 92,
                            count: count)
                        return cipsecmb_answers(&library, method, message, memory.baseAddress)
                    }
                }
            }
        }

        private static func name(of version: UInt32) -> String {
            "\(version >> 16).\(version >> 8 & 0xFF).\(version & 0xFF)"
        }
    #else
        private static func load() -> LibraryRefusal? { .absent }
    #endif
}
