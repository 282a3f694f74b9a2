import TransferModel
import TransferTestSupport

/// Checks the states that a power cut may leave for broken promises of the store.
package struct CrashCheck {
    /// A state that breaks a promise, and the number of effects before the power cut.
    package struct Violation: CustomStringConvertible {
        package let effects: Int
        package let problem: String

        package var description: String { "after \(effects) effects: \(problem)" }
    }

    private typealias Object = DiskRecording.Object
    private typealias Entry = DiskRecording.Entry

    private let recording: DiskRecording
    private let model: CrashModel
    private let hidden: Set<DiskRecording.Object>
    private var random: SplitMix64
    private let bound: Int

    /// The number of states that were checked.
    package private(set) var states = 0
    /// The number of points at which only a sample of the states was checked.
    package private(set) var sampledPoints = 0
    package private(set) var violations: [Violation] = []

    /// - Parameter bound: the number of states to check at each point. If there are more, that many are drawn with
    ///   `seed`.
    package init(_ recording: DiskRecording, bound: Int, seed: UInt64) {
        self.recording = recording
        self.bound = bound
        model = CrashModel(recording: recording)
        random = SplitMix64(seed: seed)
        let own = recording.entries[Entry(directory: recording.root, name: RelativePath.reservedName)]
        let incoming = own.flatMap { recording.entries[Entry(directory: $0, name: "incoming")] }
        hidden = Set([own, incoming].compactMap { $0 })
    }

    /// Checks the states that a power cut may leave after each effect.
    package mutating func checkEverywhere() {
        for end in 0...recording.effects.count { check(at: end) }
    }

    package mutating func check(at end: Int) {
        let options = CrashOptions(model, at: end, hidden: hidden, &random)
        let (choices, areAll) = options.choices(bound, &random)
        if !areAll { sampledPoints += 1 }
        for choice in choices {
            states += 1
            if let problem = problem(options.state(choice), at: end) {
                violations.append(Violation(effects: end, problem: problem))
                return
            }
        }
    }
}

extension CrashCheck {
    /// The promise that a state breaks; nil if it breaks none.
    package func problem(_ found: DiskState, at end: Int) -> String? {
        // Names in a directory that cannot be reached itself are checked, too, although no program sees them.
        for (entry, object) in found.names
        where !recording.directories.contains(object) && !hidden.contains(entry.directory) {
            if !found.content(of: object).isSame(as: recording.wholeContent(of: object)) {
                return "\(entry.name) is not whole"
            }
        }
        var promises: [String: (index: Int, content: [UInt8]?)] = [:]
        for (index, effect) in recording.effects[..<end].enumerated() {
            switch effect {
            case .acknowledge(let path, let content): promises[path] = (index, content)
            case .acknowledgeRemoval(let path):
                promises = promises.filter { !$0.key.hasPrefix(path + "/") }
                promises[path] = (index, nil)
            default: break
            }
        }
        for (path, promise) in promises {
            guard let object = found.object(path, below: recording.root) else {
                if promise.content == nil || isRemoved(path, after: promise.index, to: end) { continue }
                return "\(path) is lost"
            }
            let isKept = promise.content.map { $0.isSame(as: found.content(of: object)) } ?? false
            if !isKept, !isNamed(object, path, after: promise.index) {
                return promise.content == nil ? "\(path) is there again" : "\(path) has other content"
            }
        }
        return nil
    }

    /// Whether the run has removed an entry with this name after the promise.
    private func isRemoved(_ path: String, after index: Int, to end: Int) -> Bool {
        let name = path.split(separator: "/").last.map(String.init)
        return recording.effects[index..<end].contains { effect in
            guard case .remove(let entry) = effect else { return false }
            return entry.name == name && !hidden.contains(entry.directory)
        }
    }

    /// Whether the run has given this name to the object after the promise.
    private func isNamed(_ object: Object, _ path: String, after index: Int) -> Bool {
        let name = path.split(separator: "/").last.map(String.init)
        return recording.effects[index...].contains { effect in
            if case .name(object, let entry) = effect { entry.name == name } else { false }
        }
    }
}
