internal import CXXHash
internal import TransferModel
internal import TransferSystem

/// The functions of xxHash for digests of pieces. They are from the shared library if it is installed and supports this
/// CPU, and otherwise from the linked archive.
enum XXHash {
    /// File name of the library.
    static let fileName = "libxxhash.so.0"

    /// The shared library, opened and tested at first use.
    static let opening = Result { () throws(LibraryRefusal) in try open(fileName) }

    static let functions = (try? opening.get()) ?? cxxhash_linked()

    static func open(_ path: String) throws(LibraryRefusal) -> cxxhash_functions {
        var functions = cxxhash_functions()
        guard cxxhash_open(path, &functions) else { throw .absent }
        try examine(functions)
        return functions
    }

    /// Versions whose XXH3 digests are equal: all from 0.8.0 on. XXH_VERSION_NUMBER has two decimal digits for each
    /// part.
    private static let versions = 800..<10_000

    /// Sizes around those at which xxHash uses other code: 16, 128, 240, and stripes and blocks of 64 and 1,024 bytes.
    private static let counts =
        [0, 1, 3, 4, 8, 9, 16, 17, 128, 129, 240, 241, 255, 256, 257, 1023, 1024, 1025, 4095, 4096, 4097]

    /// Compares the functions, which get the content in pieces, with the linked ones, which get it at once.
    static func examine(_ functions: cxxhash_functions) throws(LibraryRefusal) {
        guard versions.contains(Int(functions.version)) else {
            throw .unfit("its version is number \(functions.version), not from 800 on")
        }
        let content = (0..<4097).map { UInt8(truncatingIfNeeded: $0 &* 131 ^ $0 >> 3) }
        guard let state = functions.create() else { throw .unfit("it has no memory") }
        defer { _ = functions.destroy(state) }
        for count in counts {
            let isSame = content.withUnsafeBytes { bytes in
                let piece = bytes.prefix(count)
                return digest(functions, state, piece) == BlockHasher.digest(.xxh128, .init(rebasing: piece))
            }
            guard isSame else { throw .unfit("it digests \(count) bytes otherwise") }
        }
    }

    private static func digest(
        _ functions: cxxhash_functions, _ state: OpaquePointer, _ bytes: Slice<UnsafeRawBufferPointer>
    ) -> [UInt8] {
        _ = functions.reset(state)
        for piece in [bytes.prefix(bytes.count / 3), bytes.dropFirst(bytes.count / 3)] {
            let piece = UnsafeRawBufferPointer(rebasing: piece)
            _ = functions.update(state, piece.baseAddress, piece.count)
        }
        return functions.digest(state).canonicalBytes
    }
}

extension XXH128_hash_t {
    /// The 16 bytes as `xxhsum -H2` prints them: big-endian, the high half first.
    var canonicalBytes: [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 16) { buffer, count in
            let bytes = UnsafeMutableRawBufferPointer(buffer)
            bytes.storeBytes(of: high64.bigEndian, as: UInt64.self)
            bytes.storeBytes(of: low64.bigEndian, toByteOffset: 8, as: UInt64.self)
            count = 16
        }
    }
}
