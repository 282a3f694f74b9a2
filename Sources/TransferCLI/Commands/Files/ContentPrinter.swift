internal import TransferClient
private import TransferSystem

/// Writes the content of files on the server to standard output or another stream. Each piece is written once it is
/// verified.
struct ContentPrinter {
    private let client: TransferClient
    private let sink: ContentSink

    init(_ client: TransferClient, to sink: ContentSink = .output) {
        (self.client, self.sink) = (client, sink)
    }

    /// Prints the files in order. If one fails, this is reported, and the next file follows.
    func print(_ paths: [String]) async -> ExitCode {
        var code = ExitCode.success
        for path in paths {
            switch await print(path) {
            case .success: continue
            case .failure(.closed): return .success
            case .failure(.failed(let failure)): code = failure
            }
        }
        return code
    }

    private enum Stop: Error {
        /// The reader has closed the stream.
        case closed
        case failed(ExitCode)
    }

    private func print(_ path: String) async -> Result<Void, Stop> {
        do throws(TransferFailure) {
            for try await block in client.read(path) {
                switch block.withUnsafeBytes({ sink.write($0) }) {
                case .written: break
                case .closed: return .failure(.closed)
                case .failed(let error):
                    StandardStream.error.write("transfer: cannot write to \(sink.name): \(error.reason)\n")
                    return .failure(.failed(.uploadsFailed))
                }
            }
            return .success(())
        } catch {
            return .failure(.failed(error.tell()))
        }
    }
}
