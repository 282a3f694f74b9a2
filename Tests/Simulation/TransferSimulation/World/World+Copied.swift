import TransferCatalog
import TransferIntake
import TransferModel
import TransferPorts
import TransferStore
import TransferSystem

/// The mark of a directory, which a copy of the directory does not keep.
final class SimulatedHome: Sendable {
    private let made = Locked<DirectoryHome?>(nil)

    var current: DirectoryHome? {
        get { made.withLock(\.self) }
        set { made.withLock { $0 = newValue } }
    }
}

/// The server's directory on another disk: files have other numbers there, and their old times of modification.
extension World {
    var mark: DirectoryMark {
        DirectoryMark(read: { [home] in home.current }) { [home, clock] in
            let made = DirectoryHome(
                token: UInt64(bitPattern: clock.stamp()), object: 0, touch: clock.stamp(), catalog: 0)
            home.current = made
            return .success(made)
        }
    }

    /// Copies the directory after a power cut to another disk, and starts a server there. Often no other step runs
    /// before that server has examined the whole copy.
    func migrate(_ step: Step) throws {
        hasMigrated = true
        home.current = nil
        let known = knownRot
        try cutPower(isCopied: true)
        let origins = disk.medium.origins
        knownRot = Dictionary(
            known.compactMap { object, content in origins[object].map { ($0, content) } }, uniquingKeysWith: { $1 })
        guard step.b % 2 == 0 else { return }
        let expected = uploads.indices.filter(isCopy)
        for _ in 0..<1000 where intake?.adoption.isOpen ?? false && !disk.isDead && !records.hasFailed { adopt() }
        guard !disk.isDead, !records.hasFailed, store?.isInDoubt == false else { return }
        guard intake?.adoption.isOpen == false else { throw Promises.Broken("a copy is never looked through") }
        for index in expected where uploads[index].answer.map({ isTouched($0.path, since: uploads[index].id) }) ?? false
        {
            throw Promises.Broken("upload \(index) was acknowledged, and the copy of its file is not known")
        }
    }

    /// Whether the copied file of an upload is in place, and matches the catalog except for the number of the file.
    private func isCopy(_ index: Int) -> Bool {
        guard let answer = uploads[index].answer, let entry = records[uploads[index].id], entry.path == answer.path,
            let version = disk.medium.version(at: answer.path), let known = entry.version, let digest = entry.digest,
            let content = disk.medium.seen(at: answer.path)
        else { return false }
        return known.hasSameRevision(as: version)
            && SimulatedGround.digest(of: content, digest.algorithm.function) == digest
    }

    /// Lets the background thread examine some more of the copy.
    func adopt() {
        guard let intake, intake.adoption.isOpen, busy == nil, !disk.isDead else { return }
        let before = intake.adoption.progress?.adopted ?? 0
        if intake.adoption.step() == .wait { clock.wait(1_000_000_000) }
        if !disk.isDead, intake.adoption.progress.map({ $0.adopted > before }) ?? false { done.insert(.adopt) }
    }
}
