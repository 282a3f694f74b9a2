private import Glibc
private import TransferCluster
private import TransferModel
private import TransferPostgres
private import TransferServer
private import TransferSystem

/// `transfer status`: prints the status of the server of a directory.
struct StatusCommand {
    private let directory: String
    /// The database of a cluster; nil to ask the server of the directory.
    private let database: String?
    private let isJSON: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
        directory = arguments[Self.directory]
        isJSON = arguments[Self.json]
        database = arguments[ClusterDatabase.flag]
        guard database != nil || !arguments[Self.cluster] else { throw arguments.error("--cluster needs --catalog") }
    }

    func run() -> ExitCode {
        if let database { return show(clusterOf: database) }
        do throws(SystemError) {
            return show(try StatusSocket.ask(serverOf: directory))
        } catch {
            return fail(error)
        }
    }

    private func show(clusterOf address: String) -> ExitCode {
        let report: ClusterReport
        do throws(PostgresError) {
            let database = try ClusterDatabase(address)
            do throws(LedgerError) { report = try ClusterReport(database) } catch {
                return say(error.message, .unreachable)
            }
        } catch {
            return say(error.message, .unreachable)
        }
        return write(isJSON ? report.json.text + "\n" : report.text)
    }

    private func show(_ answer: [UInt8]) -> ExitCode {
        guard !answer.isEmpty else { return fail(SystemError(errno: EACCES, call: "connect")) }
        guard let report = (try? JSONReader.read(answer)).flatMap(StatusReport.init) else {
            return say(
                "The server's answer is not in the form '\(StatusSocket.schema)', because the server is of another "
                    + "version: restart it with this one, or ask it with its own.")
        }
        return write(isJSON ? String(decoding: answer, as: UTF8.self) : report.text)
    }

    private func write(_ text: String) -> ExitCode {
        guard let loss = StandardStream.output.write(text), loss.errno != EPIPE else { return .success }
        return say("The status cannot be written to standard output: \(loss.reason).")
    }

    private func fail(_ error: SystemError) -> ExitCode {
        let place = "'\(directory.escapedForDisplay)'"
        switch error.errno {
        case ENOENT, ENOTDIR, ECONNREFUSED: return say("No server is running with \(place).", .unreachable)
        case EACCES, EPERM:
            return say("The server of \(place) answers only its own user and root.", .accessRefused)
        case ETIMEDOUT, EAGAIN: return say("The server of \(place) does not answer.", .unreachable)
        default: return say("The server of \(place) cannot be asked: \(error.reason).", .unreachable)
        }
    }

    private func say(_ sentence: String, _ code: ExitCode = .fault) -> ExitCode {
        StandardStream.error.write("transfer: \(sentence)\n")
        return code
    }
}

extension StatusCommand: ProgramCommand {
    private static let directory = ServeFlags.directory("The server's directory.")

    private static let cluster = Flag(
        name: "cluster", help: "Show all servers of a cluster, its objects and what is to be deleted.",
        details: "Asks the database of --catalog, and no server."
    ).isOn

    private static let json = Flag(
        name: "json", help: "Print the server's answer as one JSON object; docs/reference/json.md describes it."
    ).isOn

    static let definition = Command(
        name: "status", summary: "Show the state of the server on this machine.",
        description: [
            "Asks the server of DIR, through a socket in DIR/.transfer that only its own user and root "
                + "can use, for its connections, the uploads in progress and their rates, the free space, and "
                + "what is stored.",
            "What is stored and unfinished is counted at most once a second, and less often if that takes long.",
        ],
        flags: [
            directory.flag, cluster.flag, ClusterDatabase.flag.flag, json.flag, .insecurePermissions, .help,
        ],
        examples: [
            .init(caption: "See what is arriving", line: "transfer status --dir /srv/in"),
            .init(
                caption: "See the servers of a cluster",
                line: "transfer status --cluster --catalog postgres://transfer@db/transfer"),
            .init(
                caption: "Count the connections, for a script",
                line: "transfer status --dir /srv/in --json | jq .connections.count"),
        ],
        outcomes: [
            .init(.success, "the server answered"), .init(.usage),
            .init(.unreachable, "no server is running with the directory"),
            .init(.accessRefused, "only its user and root may ask"), .init(.fault, "the answer is not valid"),
        ])
}
