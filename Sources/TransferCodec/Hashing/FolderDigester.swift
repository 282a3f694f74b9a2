internal import CXXHash
package import TransferModel

/// Computes the digest of a folder's contents: the sum of the XXH3-128 of each item, modulo 2^128. The order of the
/// items does not matter, so neither side has to sort them. One task at a time may use it.
package struct FolderDigester {
    private var high: UInt64 = 0
    private var low: UInt64 = 0
    private var record: [UInt8] = []

    /// Number of items added so far, up to `UInt32.max`.
    package private(set) var count: UInt32 = 0

    package init() {}

    /// Adds a file. Its item consists of 0, its size (8 bytes), its time of modification (8 bytes of seconds and 4 of
    /// nanoseconds), all in network byte order, and its name.
    package mutating func add(file name: String, size: UInt64, modified: Timestamp) {
        record.removeAll(keepingCapacity: true)
        record.append(0)
        record.append(bigEndian: size)
        record.append(bigEndian: UInt64(bitPattern: modified.seconds))
        record.append(bigEndian: modified.nanoseconds)
        addRecord(name)
    }

    /// Adds a folder. Its item consists of 1 and its name.
    package mutating func add(folder name: String) {
        record.removeAll(keepingCapacity: true)
        record.append(1)
        addRecord(name)
    }

    /// The digest of the items so far.
    package var digest: FolderDigest {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(FolderDigest.size)
        bytes.append(bigEndian: high)
        bytes.append(bigEndian: low)
        return FolderDigest(count: count, bytes: bytes)
    }

    private mutating func addRecord(_ name: String) {
        record.append(contentsOf: name.utf8)
        add(record.withUnsafeBytes { XXH3_128bits($0.baseAddress, $0.count) })
    }

    private mutating func add(_ hash: XXH128_hash_t) {
        let (sum, carries) = low.addingReportingOverflow(hash.low64)
        low = sum
        high = high &+ hash.high64 &+ (carries ? 1 : 0)
        // The count stops at the maximum, which no folder reaches.
        if count < .max { count += 1 }
    }
}
