internal import CPostgres
package import TransferSystem

/// libpq, PostgreSQL's own client library, opened at run time by the programs that share a database.
///
/// Open it before the process confines itself, because dlopen(3) reads files. All functions may be called by any
/// thread, if no two threads use one connection at a time (PostgreSQL's manual, "Behavior in Threaded Programs").
package final class PostgresLibrary: Sendable {
    /// The oldest usable version, in libpq's form: the first with pipeline mode.
    private static let oldestVersion: Int32 = 140_000

    /// The file that dlopen(3) looks for. Its name has not changed since PostgreSQL 8.2.
    private static let fileName = "libpq.so.5"

    /// The functions of the library. No member is NULL after a successful opening.
    let calls: cpostgres_library

    /// The installed library, opened at the first use, or the reason why it cannot be used.
    package static let installed: Result<PostgresLibrary, LibraryRefusal> = opening(path: fileName)

    /// The installed library, unless the caller has another one.
    ///
    /// - Throws: `missingLibrary` with the package to install.
    package static func require(_ other: PostgresLibrary? = nil) throws(PostgresError) -> PostgresLibrary {
        if let other { return other }
        switch installed {
        case .success(let library): return library
        case .failure(let refusal): throw error(refusal)
        }
    }

    private static func opening(path: String) -> Result<PostgresLibrary, LibraryRefusal> {
        Result { () throws(LibraryRefusal) in try PostgresLibrary(path: path) }
    }

    /// Opens the library at `path`, found as dlopen(3) does.
    package init(path: String) throws(LibraryRefusal) {
        var functions = cpostgres_library()
        var missing: UnsafePointer<CChar>?
        switch cpostgres_open(path, &functions, &missing) {
        case cpostgres_open_succeeded: break
        case cpostgres_open_incomplete:
            throw .unfit("it lacks \(missing.map { String(cString: $0) } ?? "a function")")
        default: throw .absent
        }
        calls = functions
        try Self.examine(version: functions.PQlibVersion())
    }

    /// Refuses versions without pipeline mode.
    static func examine(version: Int32) throws(LibraryRefusal) {
        guard version >= oldestVersion else { throw .unfit("its version is \(version), older than \(oldestVersion)") }
    }

    /// The error for an operator who has asked for a database.
    static func error(_ refusal: LibraryRefusal) -> PostgresError {
        let advice = "Install libpq of PostgreSQL 14 or newer (on Debian, the package libpq5)."
        switch refusal {
        case .absent: return PostgresError(.missingLibrary, "The library \(fileName) is not installed. \(advice)")
        case .unfit(let reason):
            return PostgresError(.missingLibrary, "The library \(fileName) cannot be used: \(reason). \(advice)")
        }
    }

    /// The text of a string that the library keeps; bytes that are not UTF-8 are replaced.
    func text(_ string: UnsafePointer<CChar>?) -> String { string.map { String(cString: $0) } ?? "" }
}
