import Glibc
import TransferPorts
import TransferSystem

@testable import TransferStore

/// Puts a link in the place of a file right after somebody has looked at it: the moment between looking and opening.
final class LinkAfterALook: Sendable {
    private let name: String
    private let target: String
    private let path = Locked<String?>(nil)

    /// - Parameters:
    ///   - name: of the file.
    ///   - target: what the link leads to.
    init(_ name: String, to target: String) {
        (self.name, self.target) = (name, target)
    }

    var disk: Disk { Disk(interception: { [self] call, body in perform(call, body) }) }

    /// The next look at the file is the one.
    func arm(_ path: String) { self.path.withLock { $0 = path } }

    /// Whether it has happened.
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
