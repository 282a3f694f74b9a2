internal import CPostgres

/// The notices of a session: warnings, and the error with which a server ends a session unasked. libpq would print
/// them.
///
/// Used by the connection's thread alone: libpq calls the receiver within the calls of that thread.
final class PostgresNotices {
    private let library: PostgresLibrary

    /// Texts of warnings since the last call of `clear`.
    private(set) var warnings: [String] = []

    /// The error with which the server has ended the session.
    private(set) var fatal: PostgresError?

    init(_ library: PostgresLibrary) {
        self.library = library
    }

    /// Identifies this object to libpq. The connection keeps it alive for as long as libpq may use it.
    var context: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

    /// The function that libpq calls for each notice.
    static let receiver: @convention(c) (UnsafeMutableRawPointer?, OpaquePointer?) -> Void = { context, notice in
        guard let context, let notice else { return }
        Unmanaged<PostgresNotices>.fromOpaque(context).takeUnretainedValue().take(notice)
    }

    func clear() { warnings.removeAll(keepingCapacity: true) }

    private func take(_ notice: OpaquePointer) {
        // The severity is not translated since PostgreSQL 9.6. Notices of libpq itself have none and are warnings.
        let severity = library.calls.PQresultErrorField(notice, Int32(cpostgres_severity)).map { String(cString: $0) }
        switch severity ?? "WARNING" {
        case "NOTICE", "INFO", "LOG", "DEBUG": return
        case "ERROR", "FATAL", "PANIC": if fatal == nil { fatal = Self.error(notice, library) }
        default: break
        }
        guard warnings.count < PostgresLimits.warnings else { return }
        let said = library.calls.PQresultErrorField(notice, Int32(cpostgres_message))
        warnings.append(PostgresRefusal.trimmed(library.text(said ?? library.calls.PQresultErrorMessage(notice))))
    }

    /// The error of a result or a notice.
    static func error(_ result: OpaquePointer, _ library: PostgresLibrary) -> PostgresError {
        func field(_ number: Int) -> String {
            library.text(library.calls.PQresultErrorField(result, Int32(number)))
        }
        let code = field(Int(cpostgres_sqlstate))
        let error = PostgresError(
            sqlState: code, saying: PostgresRefusal.trimmed(field(Int(cpostgres_message))),
            constraint: field(Int(cpostgres_constraint)))
        // Whatever the code, the session has ended.
        let endsSession = ["FATAL", "PANIC"].contains(field(Int(cpostgres_severity)))
        guard endsSession, !error.endsConnection else { return error }
        return PostgresError(.unavailable, error.message, sqlState: code)
    }
}

/// Reads the text of a refused connection, for which libpq has no fields.
enum PostgresRefusal {
    /// Sentences of libpq about `target_session_attrs`, which have no code (fe-connect.c). libpq translates sentences
    /// only in a program that calls setlocale(3), which this one does not.
    private static let standby = ["session is read-only", "server is in hot standby mode"]

    /// The error for a message in verbose form, such as `connection to server … failed: FATAL:  28P01: password …`,
    /// followed by lines about the place in the server's source.
    static func error(_ said: String, needsPassword: Bool, host: String) -> PostgresError {
        let lines = said.split(separator: "\n").filter { !$0.hasPrefix("LOCATION:") }
        let text = trimmed(lines.joined(separator: " "))
        if let (code, sentence) = code(in: text) {
            let error = PostgresError(sqlState: code, saying: sentence)
            // No code is a statement's: none was sent.
            let isStatement = error.reason == .bug || error.reason == .busy
            return PostgresError(isStatement ? .unavailable : error.reason, "\(host): \(error.message)", sqlState: code)
        }
        if needsPassword {
            return PostgresError(
                .credentials, "\(host): The database wants a password. Put it into the address or into ~/.pgpass.")
        }
        if standby.contains(where: text.contains) {
            return PostgresError(.readOnly, "\(host): The database allows no changes: \(text).")
        }
        return PostgresError(.unavailable, "\(host): The database cannot be reached: \(text).")
    }

    /// Finds the code between the severity, which is followed by two spaces, and the sentence.
    private static func code(in text: String) -> (code: String, sentence: String)? {
        let bytes = Array(text.utf8)
        let colon = UInt8(ascii: ":")
        let space = UInt8(ascii: " ")
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        let letters = UInt8(ascii: "A")...UInt8(ascii: "Z")
        for index in bytes.indices where bytes.count - index > 10 {
            let isMark = bytes[index] == colon && bytes[index + 1] == space && bytes[index + 2] == space
            guard isMark, bytes[index + 8] == colon, bytes[index + 9] == space else { continue }
            let code = bytes[index + 3..<index + 8]
            guard code.allSatisfy({ digits.contains($0) || letters.contains($0) }) else { continue }
            return (String(decoding: code, as: UTF8.self), String(decoding: bytes[(index + 10)...], as: UTF8.self))
        }
        return nil
    }

    /// Removes line ends, spaces and points at the end of a text that becomes part of a sentence.
    static func trimmed(_ text: String) -> String {
        var text = text[...]
        while let last = text.last, last.isWhitespace || last == "." { text.removeLast() }
        return String(text)
    }
}
