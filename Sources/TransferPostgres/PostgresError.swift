/// The failure of a call to the database. The reason decides what the caller does next, the message is for people.
package struct PostgresError: Error, Equatable, Sendable {
    package enum Reason: Equatable, Sendable {
        /// Other transactions were in the way, or a time-out passed. The same call can succeed later.
        case busy
        /// The server cannot be reached, is starting or stopping, or the connection was lost. The same call can succeed
        /// later, perhaps on another server.
        case unavailable
        /// The server refuses the user or the password.
        case credentials
        /// The server has no database of this name.
        case noDatabase
        /// The user lacks a right.
        case noRights
        /// The server is a standby, or allows no changes for another reason.
        case readOnly
        /// A disk, the memory or the number of connections is exhausted.
        case full
        /// A row contradicts a constraint. The name is empty if the server does not say it.
        case constraint(String)
        /// The server's version or settings cannot keep the promises of this program.
        case unfitServer
        /// The address is not a URI of libpq.
        case badAddress
        /// libpq is not installed or not usable.
        case missingLibrary
        /// The database belongs to another cluster of servers.
        case foreignCluster
        /// The tables were made by a newer program.
        case newerSchema
        /// The body of a transaction asked for a rollback.
        case givenUp
        /// The pool or the listener has been closed.
        case closed
        /// The server speaks another protocol, or answers what was not asked.
        case protocolViolation
        /// A statement or a value is wrong: a mistake of this program.
        case bug
    }

    package let reason: Reason

    /// The five characters of PostgreSQL's error code (its manual, appendix A); nil if the error is not the server's.
    package let sqlState: String?

    /// A sentence for the operator, without the password.
    package let message: String

    package init(_ reason: Reason, _ message: String, sqlState: String? = nil) {
        (self.reason, self.message, self.sqlState) = (reason, message, sqlState)
    }

    /// Whether the same call can succeed later without a change of program, settings or rights.
    package var isTransient: Bool { reason == .busy || reason == .unavailable || reason == .full }
}

extension PostgresError: CustomStringConvertible {
    package var description: String { message }
}

extension PostgresError {
    /// Makes the error for a code of the server. Only this initializer decides its reason and wording.
    ///
    /// - Parameters:
    ///   - said: the server's sentence.
    ///   - constraint: the constraint's name; empty if the server names none.
    init(sqlState: String, saying said: String, constraint: String = "") {
        let reason = Self.reason(sqlState, constraint: constraint)
        self.init(reason, Self.sentence(reason, said: said, sqlState), sqlState: sqlState)
    }

    /// The reason for a code of PostgreSQL's manual, appendix A.
    private static func reason(_ sqlState: String, constraint: String) -> Reason {
        switch sqlState {
        // A statement's or a lock's time-out, a cancelled statement, and a transaction that was idle for too long.
        case "55P03", "57014", "25P03", "57P05": return .busy
        case "25006": return .readOnly
        case "3D000": return .noDatabase
        case "42501": return .noRights
        case "53300", "53100", "53200", "53400": return .full
        case "08P01": return .protocolViolation
        default: break
        }
        switch sqlState.prefix(2) {
        case "08", "57": return .unavailable
        case "23": return .constraint(constraint)
        case "28": return .credentials
        case "40": return .busy
        case "53": return .full
        // Errors of the disk or of the server itself: another server may be sound.
        case "58", "XX": return .unavailable
        default: return .bug
        }
    }

    private static func sentence(_ reason: Reason, said: String, _ sqlState: String) -> String {
        let what = "\(said) (\(sqlState))"
        switch reason {
        case .busy: return "The database is busy: \(what). Try again later."
        case .unavailable: return "The database is not available: \(what)."
        case .credentials:
            return "The database refuses the user: \(what). Check the user, the password and the server's pg_hba.conf."
        case .noDatabase: return "There is no such database: \(what). Create it, or correct the address."
        case .noRights: return "The database user lacks a right: \(what). Grant it."
        case .readOnly: return "The database allows no changes: \(what). Name the primary in the address."
        case .full: return "The database has no room: \(what). Give it more, or lower what it is asked for."
        case .constraint: return "The database refuses a row: \(what)."
        case .protocolViolation: return "The database does not understand this program: \(what)."
        default: return "The database refuses a statement: \(what). Report this as a bug."
        }
    }

    /// The error for a lost connection.
    static func lost(_ said: String) -> PostgresError {
        PostgresError(.unavailable, "The connection to the database was lost: \(said). It is made again when needed.")
    }

    /// The error for an answer that does not follow the protocol.
    static func violation(_ what: String) -> PostgresError {
        PostgresError(
            .protocolViolation, "The database gave a wrong answer: \(what). Check that the address is PostgreSQL's.")
    }

    /// The error for a value that does not have the form that this program expects.
    static func unexpected(_ what: String) -> PostgresError {
        PostgresError(
            .protocolViolation, "The database has a value of a wrong form: \(what). The tables were changed by others.")
    }

    /// Whether the connection cannot be used any more, because the session ended or is on a server that is no primary.
    var endsConnection: Bool {
        switch reason {
        case .unavailable, .protocolViolation, .readOnly, .closed: true
        default: isStale || sqlState == "25P03" || sqlState == "57P05"
        }
    }

    /// Whether a prepared statement does not fit any more, because the tables have changed (0A000) or a pooler between
    /// gave the connection another session (26000, 42P05).
    var isStale: Bool { sqlState == "26000" || sqlState == "42P05" || sqlState == "0A000" }

    /// Whether the server chose this transaction to give way to others: repeating it is the usual answer (manual,
    /// "Serialization Failure Handling").
    var asksToRepeat: Bool { sqlState == "40001" || sqlState == "40P01" }

    /// Whether an ERROR in place of COMMIT's answer says that nothing was committed. The other classes contain
    /// interruptions (57), failures of the server (58, XX) and connections (08), which can follow the commit.
    var excludesCommit: Bool {
        guard let sqlState, sqlState != "40003" else { return false }
        return ["22", "23", "25", "26", "2D", "40", "42", "44", "53", "54", "55", "P0", "0A"]
            .contains(String(sqlState.prefix(2)))
    }

    func saying(_ message: String) -> PostgresError { PostgresError(reason, message, sqlState: sqlState) }
}
