import TransferAccess
import TransferIntake
import TransferModel
import TransferProtocol
import TransferPorts

/// What a server does at a moment.
struct ServerStatus: Sendable {
    /// A connection.
    struct Connection: Sendable {
        let number: Int
        let peer: String
        let client: String?
        let isEstablished: Bool
        /// UTC, in nanoseconds since 1970.
        let since: Int64
        let stored: Int
        let received: UInt64
        let sent: UInt64
        /// Bytes a second, of both.
        let rate: Double
    }

    /// An upload that somebody works on.
    struct Upload: Sendable {
        let path: String
        let client: String?
        /// Nothing where the client doesn't know it yet.
        let size: UInt64?
        var received: UInt64
        /// Bytes a second, of all connections together.
        var rate: Double
        /// Seconds since this server first heard of it.
        let seconds: Double
        var connections = 1

        /// Bytes that are to come, as far as that is known.
        var missing: UInt64 { size.map { $0 - min($0, received) } ?? 0 }
    }

    /// The mailboxes.
    struct Mail: Sendable {
        /// Whether they can be used.
        let isOpen: Bool
        /// Deliveries that wait, and bytes of their content.
        let waiting: (count: Int, bytes: UInt64)
        let people: Int
        /// Those who are connected.
        let here: Int
    }

    /// Entries of each list; the longest path in full, escaped, leaves the whole below 5 MiB.
    static let longestList = 200

    let agent: String
    let process: Int32
    let directory: String
    let isStopping: Bool
    let started: UTCTime
    let now: UTCTime
    let endpoints: [String]
    let advertised: String?
    let isEncrypted: Bool
    /// Whether everybody is let in who reaches it.
    let isOpen: Bool
    let connections: [Connection]
    let uploads: [Upload]
    let room: StoreRoom?
    let quota: (used: UInt64, limit: UInt64)?
    let minimumFree: UInt64?
    let figures: StoreFigures.Figures
    /// What waits for people; nothing where nothing is kept for anybody.
    var mail: Mail?
    /// Whether a sync has failed, or was cut short, since the machine was started.
    var isInDoubt = false
    /// How far the comparison of a copied directory is; nil where there is none.
    var adoption: Adoption.Progress?
    /// Times that a server that is supervised was started again; nothing for one that isn't.
    var restarts: Int?
    var crashes: [CrashReports.Entry] = []
    var crashFolder = ""

    /// Bytes that uploads of known size still have to bring.
    var reserved: UInt64 { uploads.reduce(0) { $0.addingClamped($1.missing) } }
}
