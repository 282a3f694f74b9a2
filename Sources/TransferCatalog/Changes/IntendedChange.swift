import TransferDatabase
package import TransferModel

/// What a server is about to do with a file or folder, noted before it does it: whatever ends it in the middle, the next one can
/// tell which of the two states is there, and lets the catalog say so.
package struct IntendedChange: Equatable, Sendable {
    /// The numbers are stored.
    package enum Form: Int64, CaseIterable, Sendable {
        /// A file gets another path, perhaps in place of another file.
        case move = 1
        /// A folder gets another path, with all that is in it.
        case folder = 2
        /// A file gets a second name.
        case link = 3
        /// A file gets other attributes.
        case attributes = 4
        /// A file gives way to something that is no file.
        case replacement = 5
        /// A file gives way and is kept at the target. What the catalog knows of other files under its path stays there.
        case keep = 6
    }

    package let form: Form
    package let path: String

    /// The other path; where there is none, the same one.
    package let target: String

    /// What has the path before.
    package let before: ContentVersion

    /// The time of modification that the file is given, as versions have it; nothing where it keeps its own.
    package let revision: Int64?

    /// When it was intended; UTC, in nanoseconds since 1970.
    package let moment: Int64

    package init(
        _ form: Form, _ path: String, to target: String? = nil, before: ContentVersion, revision: Int64? = nil,
        at moment: Int64
    ) {
        (self.form, self.path, self.target) = (form, path, target ?? path)
        (self.before, self.revision, self.moment) = (before, revision, moment)
    }
}

extension IntendedChange {
    /// The same, with all that a file system has made of the attributes.
    package func done(as file: ContentVersion) -> IntendedChange {
        IntendedChange(form, path, to: target, before: before, revision: file.revision, at: moment)
    }

    /// The same behind it: all that was acknowledged by then is about what was there before.
    ///
    /// - Parameter moment: UTC, in nanoseconds since 1970.
    package func made(at moment: Int64) -> IntendedChange {
        IntendedChange(form, path, to: target, before: before, revision: revision, at: max(moment, self.moment))
    }
}

/// How they stand in the table.
extension IntendedChange {
    static let names = "form, path, target, object, touch, revision, size, modified, moment"

    static let insert = "INSERT INTO intended (\(names), newest) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"

    /// - Parameter newest: the last row of uploads that is there.
    func write(_ statement: Statement, newest: Int64) throws(DatabaseError) {
        statement.bind(1, form.rawValue)
        statement.bind(4, Int64(bitPattern: before.object))
        statement.bind(5, before.touch)
        statement.bind(6, before.revision)
        statement.bind(7, Int64(clamping: before.size))
        statement.bind(8, revision)
        statement.bind(9, moment)
        statement.bind(10, newest)
        try path.utf8.span.withUnsafeBufferPointer { (path) throws(DatabaseError) in
            try target.utf8.span.withUnsafeBufferPointer { (target) throws(DatabaseError) in
                statement.bind(2, text: path)
                statement.bind(3, text: target)
                try statement.run()
            }
        }
    }

    /// Reads the row that the statement is at, behind its number.
    ///
    /// - Returns: nothing for a row that cannot be.
    init?(_ row: Statement) {
        guard let form = Form(rawValue: row.integer(1)), let size = UInt64(exactly: row.integer(7)) else { return nil }
        let before = ContentVersion(
            object: UInt64(bitPattern: row.integer(4)), revision: row.integer(6), touch: row.integer(5), size: size)
        self.init(
            form, row.text(2), to: row.text(3), before: before, revision: row.optionalInteger(8), at: row.integer(9))
    }
}
