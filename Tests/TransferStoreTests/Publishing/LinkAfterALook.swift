import Glibc
import TransferPorts
import TransferSystem

@testable import TransferStore

/// Replaces a file by a link right after its status was read, which is the moment between lookup and opening.
final class LinkAfterALook: Sendable {
    private let name: String
    private let target: String
    private let path = Locked<String?>(nil)

    /// - Parameters:
    ///   - name: name of the file.
    ///   - target: target of the link.
    init(_ name: String, to target: String) {
        (self.name, self.target) = (name, target)
    }

    var disk: Disk { Disk(interception: { [self] call, body in perform(call, body) }) }

    /// Replaces the file after its next status.
    func arm(_ path: String) { self.path.withLock { $0 = path } }

    /// Whether the file was replaced.
    var hasStruck: Bool { path.withLock { $0 == nil } }

    private func perform(_ call: DiskCall, _ body: () -> Int) -> Int {
        let result = body()
        guard case .status(_, name) = call, result >= 0 else { return result }
        path.withLock { armed in
            guard let path = armed, unlink(path) == 0, symlink(target, path) == 0 else { return }
            armed = nil
        }
        return result
    }
}
