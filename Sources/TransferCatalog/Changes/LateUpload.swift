import TransferDatabase
import TransferModel

/// A file that was acknowledged below a folder after it was noted that the folder is to be moved: it went along, or it came after.
package struct LateUpload: Equatable, Sendable {
    package let path: String
    package let object: UInt64

    package init(_ path: String, object: UInt64) { (self.path, self.object) = (path, object) }

    /// Where it is if it went along; alone, whenever it was acknowledged.
    ///
    /// - Parameter folder: that it was acknowledged in.
    func moved(with folder: PathMove) -> PathMove {
        PathMove(
            path, to: folder.target + String(decoding: path.utf8.dropFirst(folder.path.utf8.count), as: UTF8.self),
            object: object, at: .min)
    }
}

extension LateUpload {
    // Behind a slash comes a zero: all paths below a folder are between the two.
    private static let select = """
        SELECT path, object FROM uploads
        WHERE path > ?1 || '/' AND path < ?1 || '0' AND committed > ?2 AND number > ?3 AND object IS NOT NULL
        """

    static func all(
        below move: PathMove, after noted: NotedChanges, in database: Database
    ) throws(DatabaseError) -> [LateUpload] {
        let select = try Statement(Self.select, in: database)
        return try move.path.utf8.span.withUnsafeBufferPointer { (path) throws(DatabaseError) in
            select.bind(1, text: path)
            select.bind(2, move.moment)
            select.bind(3, noted.newest)
            defer { select.reset() }
            var found: [LateUpload] = []
            while try select.next() {
                found.append(LateUpload(select.text(0), object: UInt64(bitPattern: select.integer(1))))
            }
            return found
        }
    }
}
