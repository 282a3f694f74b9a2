import TransferModel
package import TransferPorts
package import TransferPostgres
import TransferSystem

/// The news of a server of a cluster, by notifications of the database (LISTEN, NOTIFY).
package final class PostgresNews: ServerNews {
    /// Least nanoseconds between two transactions with news of this server.
    package static let usualInterval: Int64 = 50_000_000

    /// Nanoseconds after which people look for mail again: a server that is killed between a commit and its notification says nothing.
    package static let usualReminder: Int64 = 60_000_000_000

    private let desk: NewsDesk
    private let notifier: PostgresNotifier
    private let listener: PostgresListener

    /// Begins to listen.
    ///
    /// - Parameters:
    ///   - pool: connections with the database; they have to stay open until `close`.
    ///   - configuration: for the connection that listens.
    /// - Throws: if no thread can be started, or the library is missing.
    package init(
        _ pool: PostgresPool, _ configuration: PostgresConfiguration, interval: Int64 = usualInterval,
        reminder: Int64 = usualReminder
    ) throws(PostgresError) {
        let desk = NewsDesk()
        // Channels belong to a database, and a cluster to a schema in it.
        let channel = configuration.schema
        self.desk = desk
        notifier = try PostgresNotifier(
            pool, channel: channel, interval: interval, pause: reminder,
            payloads: { hasFailed in desk.payloads(afterFailure: hasFailed) }, remind: { desk.tell(.reminder) })
        listener = try PostgresListener(configuration, channels: [channel]) { desk.heard($0) }
    }

    package func post(_ news: NewsBatch) {
        guard !news.isEmpty else { return }
        desk.add(news)
        notifier.wake()
    }

    package func listen(_ handler: @escaping @Sendable (NewsBatch) -> Void) { desk.add(handler) }

    package func close() {
        notifier.close()
        listener.close()
    }
}

/// Keeps news that are to be sent, and the handlers for news that arrive.
private final class NewsDesk: Sendable {
    private let outgoing = Locked(NewsBatch())
    private let handlers = Locked([@Sendable (NewsBatch) -> Void]())
    /// Distinguishes the notifications of this server, which its own listener receives, too.
    private let server = NewsPayload.randomServer()

    func add(_ news: NewsBatch) { outgoing.withLock { $0.add(news) } }

    func add(_ handler: @escaping @Sendable (NewsBatch) -> Void) { handlers.withLock { $0.append(handler) } }

    func tell(_ news: NewsBatch) { for handler in handlers.withLock({ $0 }) { handler(news) } }

    /// Takes what is to be sent.
    ///
    /// - Parameter afterFailure: whether the payloads of the last call may be lost.
    func payloads(afterFailure: Bool) -> [String] {
        let news = outgoing.withLock { outgoing in
            defer { outgoing = NewsBatch() }
            return outgoing
        }
        return NewsPayload.texts(afterFailure ? .everything : news, from: server)
    }

    func heard(_ event: PostgresListener.Event) {
        switch event {
        case .listening: tell(.everything)
        case .notification(_, let payload):
            if let news = NewsPayload.read(payload, besides: server) { tell(news) }
        case .interrupted: break
        }
    }
}

/// The text of a notification: the server that sends it, then a word for each change.
///
///     8f3a6c01d2e4b597 u0123456789abcdef0123456789abcdef m616c696365 a
///
/// | word | meaning |
/// |---|---|
/// | `u` and an ID | the upload has stored a file |
/// | `m` and the bytes of a name, in hexadecimal digits | the person's mail has changed |
/// | `a` | the access lists have changed |
/// | `U`, `M` | more uploads, or more people |
enum NewsPayload {
    /// Bytes of a server's name.
    private static let serverSize = 16

    static func randomServer() -> String {
        var random = SecureRandom()
        let digits = String(random.next(), radix: 16)
        return String(repeating: "0", count: serverSize - digits.utf8.count) + digits
    }

    /// - Returns: as many texts as are needed, none longer than PostgreSQL takes.
    static func texts(_ news: NewsBatch, from server: String) -> [String] {
        var news = news
        // No name is so long. A payload that PostgreSQL refuses would never be sent.
        let longest = (PostgresLimits.payloadSize - serverSize) / 2 - 2
        if news.people.contains(where: { $0.string.utf8.count > longest }) { news.missPeople() }
        var words: [String] = []
        if news.missesUploads { words.append("U") }
        if news.missesPeople { words.append("M") }
        if news.changesAccess { words.append("a") }
        words += news.people.sorted().map { "m" + String(hexadecimal: Array($0.string.utf8)) }
        words += news.uploads.map { "u\($0)" }
        var texts: [String] = []
        for word in words {
            if let last = texts.last, last.utf8.count + 1 + word.utf8.count <= PostgresLimits.payloadSize {
                texts[texts.count - 1] += " " + word
            } else {
                texts.append("\(server) \(word)")
            }
        }
        return texts
    }

    /// - Parameter server: whose own texts are left out.
    /// - Returns: nil for a text of this server, or of another program. Unknown words, of later versions, are left out.
    static func read(_ text: String, besides server: String) -> NewsBatch? {
        var words = text.split(separator: " ")[...]
        guard let sender = words.popFirst(), sender.utf8.count == serverSize, !sender.utf8.elementsEqual(server.utf8)
        else { return nil }
        var uploads: [UploadID] = []
        var people: [String] = []
        var news = NewsBatch()
        for word in words {
            let rest = word.dropFirst()
            switch word.first {
            case "u": if let id = UploadID(hexadecimal: rest) { uploads.append(id) }
            case "m":
                guard let bytes = [UInt8](hexadecimal: rest), let name = String(validating: bytes, as: UTF8.self)
                else { continue }
                people.append(name)
            case "a": news.changesAccess = true
            case "U": news.missUploads()
            case "M": news.missPeople()
            default: continue
            }
        }
        news.add(NewsBatch(uploads: uploads, people: people))
        return news.isEmpty ? nil : news
    }
}
