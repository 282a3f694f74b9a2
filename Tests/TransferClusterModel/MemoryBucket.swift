package import TransferObjects
import TransferSystem

/// Objects in memory, for tests and for the simulator. All servers of a cluster share one.
package final class MemoryBucket: ObjectStore {
    private let objects = Locked<[ObjectKey: [UInt8]]>([:])

    package init() {}

    /// All objects by their keys.
    package var contents: [ObjectKey: [UInt8]] { objects.withLock { $0 } }

    package func put(_ key: ObjectKey, _ content: ObjectContent) throws(ObjectError) {
        let bytes = try content.bytes()
        objects.withLock { $0[key] = bytes }
    }

    package func get(
        _ key: ObjectKey, _ range: Range<UInt64>, into buffer: UnsafeMutableRawBufferPointer
    ) throws(ObjectError) {
        guard let bytes = objects.withLock({ $0[key] }) else {
            throw ObjectError(.notFound, "The object \(key) does not exist.")
        }
        guard range.upperBound <= UInt64(bytes.count) else {
            throw ObjectError(.damaged, "The object \(key) has only \(bytes.count) bytes.")
        }
        buffer.copyBytes(from: bytes[Int(range.lowerBound)..<Int(range.upperBound)])
    }

    package func head(_ key: ObjectKey) throws(ObjectError) -> ObjectHead {
        guard let bytes = objects.withLock({ $0[key] }) else {
            throw ObjectError(.notFound, "The object \(key) does not exist.")
        }
        return ObjectHead(size: UInt64(bytes.count), metadata: ObjectMetadata())
    }

    package func delete(_ key: ObjectKey) throws(ObjectError) { objects.withLock { $0[key] = nil } }

    package func list(_ prefix: String, after last: ObjectKey?, limit: Int) throws(ObjectError) -> ObjectPage {
        let found = objects.withLock { objects in
            objects.filter { key, _ in
                key.text.utf8.starts(with: prefix.utf8) && (last.map { $0 < key } ?? true)
            }
            .map { ListedObject($0.key, size: UInt64($0.value.count)) }.sorted { $0.key < $1.key }
        }
        return ObjectPage(Array(found.prefix(limit)), isLast: found.count <= limit)
    }
}
