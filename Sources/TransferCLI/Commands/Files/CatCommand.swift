private import TransferClient
private import TransferSystem

/// `transfer cat`: writes the content of files to standard output, each piece when it is verified.
struct CatCommand {
    private let access: FilesAccess
    private let paths: [String]

    init(_ arguments: ParsedArguments) throws(UsageError) {
        guard !arguments.operands.isEmpty else { throw arguments.error("nothing to print; name files") }
        paths = arguments.operands
        access = try FilesAccess(arguments)
    }

    func run() async -> ExitCode {
        do throws(PushFailure) {
            let client = try await access.client()
            var code = ExitCode.success
            for path in paths {
                switch await print(path, client) {
                case .success: continue
                case .failure(.closed): return .success
                case .failure(.failed(let failure)): code = failure
                }
            }
            return code
        } catch {
            return error.tell()
        }
    }

    private enum Stop: Error {
        /// Nobody reads any more.
        case closed
        case failed(ExitCode)
    }

    private func print(_ path: String, _ client: TransferClient) async -> Result<Void, Stop> {
        do throws(PushFailure) {
            for try await block in client.read(path) {
                switch block.withUnsafeBytes({ StandardStream.output.write($0) }) {
                case .written: break
                case .closed: return .failure(.closed)
                case .failed(let error):
                    StandardStream.error.write("transfer: cannot write to standard output: \(error.reason)\n")
                    return .failure(.failed(.uploadsFailed))
                }
            }
            return .success(())
        } catch {
            return .failure(.failed(error.tell()))
        }
    }
}
