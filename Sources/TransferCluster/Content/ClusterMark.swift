import TransferModel
package import TransferObjects
package import TransferPostgres

/// The object by which a bucket belongs to a cluster: it contains the cluster's ID. Without it, a server could acknowledge
/// against one bucket what another server looks for in a different one.
package struct ClusterMark: Sendable {
    /// The name of the object. All other objects are in folders with random names.
    package static let name = "cluster-id"

    private let bucket: any ObjectStore

    package init(_ bucket: any ObjectStore) { self.bucket = bucket }

    /// Reads the mark.
    ///
    /// - Returns: nil if the bucket has no mark.
    /// - Throws: `damaged` if the object is not a mark.
    package func read() throws(ObjectError) -> PostgresClusterID? {
        let key = try Self.key()
        let size: Int
        do throws(ObjectError) {
            size = Int(clamping: try bucket.head(key).size)
        } catch {
            guard error.reason == .notFound else { throw error }
            return nil
        }
        guard size == Self.size else { throw Self.damaged }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 1)
        defer { buffer.deallocate() }
        try bucket.get(key, 0..<UInt64(size), into: buffer)
        guard let id = Self.id(Array(buffer)) else { throw Self.damaged }
        return id
    }

    /// Marks a bucket that has no mark. If two clusters mark one bucket at the same time, one of them finds the mark of
    /// the other when it reads the mark again.
    package func write(_ id: PostgresClusterID) throws(ObjectError) {
        try bucket.put(try Self.key(), ObjectContent([Self.text(of: id)]))
        guard try read() == id else {
            throw ObjectError(.misconfigured, "Another cluster has begun to use the same prefix of the bucket.")
        }
    }

    // MARK: The text

    /// Bytes of the text: two digits for each byte of the ID, and a line feed.
    private static let size = 2 * PostgresClusterID.size + 1

    private static func text(of id: PostgresClusterID) -> [UInt8] { Array("\(id)\n".utf8) }

    private static func id(_ text: [UInt8]) -> PostgresClusterID? {
        guard text.count == size, text.last == UInt8(ascii: "\n"),
            let bytes = [UInt8](hexadecimal: String(decoding: text.dropLast(), as: UTF8.self))
        else { return nil }
        return PostgresClusterID(bytes)
    }

    private static var damaged: ObjectError {
        ObjectError(
            .damaged,
            "The object '\(name)' is not the mark of a cluster. Does another program use the same prefix of the bucket?"
        )
    }

    private static func key() throws(ObjectError) -> ObjectKey {
        guard let key = ObjectKey(name) else { throw damaged }
        return key
    }
}
