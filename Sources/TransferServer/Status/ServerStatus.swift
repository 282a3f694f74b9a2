import TransferAccess
import TransferIntake
import TransferModel
import TransferProtocol
import TransferPorts

/// The status of a server at one moment.
struct ServerStatus: Sendable {
    /// A connection and its traffic so far.
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
        /// Bytes a second, received and sent together.
        let rate: Double
    }

    /// An upload that at least one connection works on.
    struct Upload: Sendable {
        let path: String
        let client: String?
        /// Nil if the client does not know the size yet.
        let size: UInt64?
        var received: UInt64
        /// Bytes a second, of all connections together.
        var rate: Double
        /// Seconds since this server first received some of the upload.
        let seconds: Double
        var connections = 1

        /// Bytes that are still to arrive; 0 if the size is not known.
        var missing: UInt64 { size.map { $0 - min($0, received) } ?? 0 }
    }

    /// The mailboxes, and how much waits in them.
    struct Mail: Sendable {
        /// Whether the mailboxes can be used.
        let isOpen: Bool
        /// Number of open deliveries, and bytes of their content.
        let waiting: (count: Int, bytes: UInt64)
        /// Number of people who have a mailbox.
        let mailboxes: Int
        /// Number of people who are connected.
        let connected: Int
    }

    /// Most entries of each list; even with the longest paths, escaped, the status stays below 5 MiB.
    static let longestList = 200

    let agent: String
    let pid: Int32
    let directory: String
    let isStopping: Bool
    let started: UTCTime
    let now: UTCTime
    let endpoints: [String]
    let advertised: String?
    let isEncrypted: Bool
    /// Whether the server admits clients without a key or token.
    let allowsAnonymous: Bool
    let connections: [Connection]
    let uploads: [Upload]
    let room: StoreRoom?
    let quota: (used: UInt64, limit: UInt64)?
    let minimumFree: UInt64?
    let figures: StoreFigures.Figures
    /// The mailboxes; nil if the server has none.
    var mail: Mail?
    /// Whether a sync has failed, or was cut short, since the machine was started.
    var isInDoubt = false
    /// Progress of the comparison of a copied directory; nil without one.
    var adoption: Adoption.Progress?
    /// Number of restarts by the supervisor; nil without a supervisor.
    var restarts: Int?
    var crashes: [CrashReports.Entry] = []
    var crashFolder = ""

    /// Bytes that uploads of known size still have to send.
    var reserved: UInt64 { uploads.reduce(0) { $0.addingClamped($1.missing) } }
}
