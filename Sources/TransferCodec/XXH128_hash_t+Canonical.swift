internal import CXXHash

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
