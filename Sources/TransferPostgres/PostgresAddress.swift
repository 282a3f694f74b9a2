internal import CPostgres
import Glibc

/// The address of a database: a URI of libpq (manual, "Connection URIs"), with defaults for the options that decide how
/// soon a fail-over is noticed.
///
/// The password is in no description of the value.
package struct PostgresAddress: Sendable {
    /// Options that the URI does not have, with the value that they then get. Options of libpq that are not in this
    /// list keep libpq's defaults, variables and files.
    private static let defaults: [(name: String, value: String)] = [
        // Only the primary takes changes, so a standby in the list of hosts is skipped.
        ("target_session_attrs", "read-write"),
        // A host that vanishes without closing its connections is noticed after 30 idle seconds and three probes of 10
        // seconds each, and after 30 seconds with data under way (tcp(7)).
        ("keepalives", "1"),
        ("keepalives_idle", "30"),
        ("keepalives_interval", "10"),
        ("keepalives_count", "3"),
        ("tcp_user_timeout", "30000"),
    ]

    /// Values that this program needs, whatever the URI says.
    private static let fixed: [(name: String, value: String)] = [("client_encoding", "UTF8")]

    /// Seconds to connect to one host: longer than a far host takes, so short that the next host gets its turn.
    private static let usualConnectTimeout: Int64 = 5

    /// Seconds that the option `connect_timeout` may have; a week is as good as for ever, and cannot overflow.
    private static let longestConnectTimeout: Int64 = 604_800

    private static let secretOptions: Set<String> = ["password", "sslpassword"]

    /// All options but those of hosts, by name.
    private let options: [String: String]

    /// A host with its options. libpq could try several hosts itself, but not with a time-out for each of them.
    private struct Host: Sendable {
        let options: [(name: String, value: String)]
        let name: String
    }

    private let hosts: [Host]

    /// Nanoseconds to connect to one host.
    let connectTimeout: Int64

    /// Whether sessions have to allow changes.
    var requiresChanges: Bool { ["read-write", "primary"].contains(options["target_session_attrs"]) }

    /// The number of hosts, at least one.
    var hostCount: Int { hosts.count }

    /// Reads an address.
    ///
    /// - Parameters:
    ///   - uri: begins with `postgres://` or `postgresql://`.
    ///   - program: the name that the database shows for these connections, unless the URI has another one.
    /// - Throws: `badAddress` with a sentence that does not contain the password; `missingLibrary`.
    package init(
        _ uri: String, program: String = "transfer", library: PostgresLibrary? = nil
    ) throws(PostgresError) {
        let library = try PostgresLibrary.require(library)
        guard ["postgres://", "postgresql://"].contains(where: uri.hasPrefix), !uri.utf8.contains(0) else {
            throw Self.refusal("it does not begin with postgres://")
        }
        var found = try Self.parse(uri, library)
        let defaults = Self.defaults + [("application_name", program)]
        for (name, value) in defaults where found[name] == nil { found[name] = value }
        for (name, value) in Self.fixed { found[name] = value }
        hosts = try Self.hosts(&found)
        let seconds = found.removeValue(forKey: "connect_timeout").map { Int64($0) ?? -1 } ?? Self.usualConnectTimeout
        // Zero and negative numbers mean no time-out to libpq, which would keep a caller for ever.
        connectTimeout =
            (1...Self.longestConnectTimeout).contains(seconds)
            ? seconds * 1_000_000_000 : Self.usualConnectTimeout * 1_000_000_000
        options = found
    }

    /// - Returns: the options of the URI by name.
    private static func parse(_ uri: String, _ library: PostgresLibrary) throws(PostgresError) -> [String: String] {
        var message: UnsafeMutablePointer<CChar>?
        guard let parsed = library.calls.PQconninfoParse(uri, &message) else {
            defer { library.calls.PQfreemem(message) }
            throw refusal(unquoted(library.text(message)))
        }
        defer { library.calls.PQconninfoFree(parsed) }
        var found: [String: String] = [:]
        var next = parsed
        while let keyword = next.pointee.keyword {
            if let value = next.pointee.value { found[String(cString: keyword)] = String(cString: value) }
            next += 1
        }
        return found
    }

    /// libpq quotes parts of the address in its message, which can be parts of the password.
    private static func unquoted(_ message: String) -> String {
        let parts = message.split(separator: "\"", omittingEmptySubsequences: false)
        guard let first = parts.first, let last = parts.last, parts.count > 1 else { return trimmed(message) }
        return trimmed("\(first)…\(parts.count > 2 ? String(last) : "")")
    }

    private static func refusal(_ reason: String) -> PostgresError {
        PostgresError(
            .badAddress,
            "The address of the database is not valid: \(reason). Write postgres://USER:PASSWORD@HOST:PORT/DATABASE, with "
                + "%XX for special characters in the user and the password.")
    }

    /// Takes the options of hosts out of `options`, and distributes them over the hosts as libpq does: lists separated
    /// by commas of equal length, or one port for all hosts (manual, "Specifying Multiple Hosts").
    private static func hosts(_ options: inout [String: String]) throws(PostgresError) -> [Host] {
        let names = list(options.removeValue(forKey: "host"))
        let addresses = list(options.removeValue(forKey: "hostaddr"))
        let ports = list(options.removeValue(forKey: "port"))
        let count = max(names.count, addresses.count, 1)
        guard names.isEmpty || names.count == count, addresses.isEmpty || addresses.count == count,
            ports.count <= 1 || ports.count == count
        else { throw refusal("it has \(names.count) hosts, \(addresses.count) addresses and \(ports.count) ports") }
        return (0..<count).map { index in
            var found: [(name: String, value: String)] = []
            let port = ports.count == 1 ? ports.first : element(ports, index)
            let (name, address) = (element(names, index), element(addresses, index))
            for (option, value) in [("host", name), ("hostaddr", address), ("port", port)] {
                if let value, !value.isEmpty { found.append((option, value)) }
            }
            let shown = name ?? address ?? ""
            return Host(options: found, name: (shown.isEmpty ? "localhost" : shown) + (port.map { ":\($0)" } ?? ""))
        }
    }

    private static func list(_ value: String?) -> [String] {
        guard let value else { return [] }
        return value.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    }

    private static func element(_ list: [String], _ index: Int) -> String? {
        list.indices.contains(index) ? list[index] : nil
    }

    private static func trimmed(_ text: String) -> String {
        var text = text[...]
        while let last = text.last, last.isWhitespace || last == ":" { text.removeLast() }
        return String(text)
    }

    /// The name of a host in messages; empty for an index that does not exist.
    func hostName(_ index: Int) -> String { hosts.indices.contains(index) ? hosts[index].name : "" }

    /// Port of a host that names none (manual, "Connection Strings").
    private static let usualPort: UInt16 = 5432

    /// TCP ports of all hosts, so that a confined process may connect to them.
    package var ports: [UInt16] {
        hosts.map { host in
            let named = host.options.first { $0.name == "port" }?.value ?? getenv("PGPORT").map { String(cString: $0) }
            return named.flatMap { UInt16($0) } ?? Self.usualPort
        }
    }

    /// Files that libpq may read for each connection: certificates and passwords. Some of them may not exist.
    package var files: [String] {
        let folder = getenv("HOME").map { String(cString: $0) }
        let usual = folder.map { home in
            ["/.pgpass"].map { home + $0 }
                + ["root.crt", "root.crl", "postgresql.crt", "postgresql.key"].map { "\(home)/.postgresql/\($0)" }
        }
        let variables = ["PGPASSFILE", "PGSSLROOTCERT", "PGSSLCERT", "PGSSLKEY", "PGSSLCRL", "PGSERVICEFILE"]
        let named = ["passfile", "sslrootcert", "sslcert", "sslkey", "sslcrl"].compactMap { options[$0] }
        return named + variables.compactMap { getenv($0).map { String(cString: $0) } } + (usual ?? [])
    }

    /// The options of libpq to connect with one of the hosts.
    func parameters(forHost index: Int) -> [(name: String, value: String)] {
        let host = hosts.indices.contains(index) ? hosts[index].options : []
        return options.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } + host
    }

    /// Removes the passwords from a text of libpq or of the server.
    func redacted(_ text: String) -> String {
        var text = text
        for name in Self.secretOptions {
            guard let secret = options[name], !secret.isEmpty else { continue }
            text = text.split(separator: secret, omittingEmptySubsequences: false).joined(separator: "…")
        }
        return text
    }
}

extension PostgresAddress: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// User, hosts and database, for logs.
    package var description: String {
        let user = options["user"].map { "\($0)@" } ?? ""
        return redacted("postgres://\(user)\(hosts.map(\.name).joined(separator: ","))/\(options["dbname"] ?? "")")
    }

    package var debugDescription: String { description }

    /// Hides the options from `dump`, because they contain the password.
    package var customMirror: Mirror { Mirror(self, children: []) }
}
