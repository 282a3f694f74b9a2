/// The changes that an attacker makes to one direction of a connection. Input: changes, each with its distance from the
/// previous one (2 bytes), its kind (1 byte) and an argument (1 byte).
struct Interference {
    private enum Change {
        case flip(UInt8)
        case insert(UInt8, count: Int)
        case remove(count: Int)
    }

    /// The changes by their offsets in the stream, increasing.
    private var changes: ArraySlice<(place: Int, change: Change)>
    private var place = 0

    /// Whether the output differs from the input.
    private(set) var hasChangedAnything = false

    init(_ input: inout FuzzInput) {
        var changes: [(place: Int, change: Change)] = []
        var place = 0
        while !input.isEmpty {
            place += Int(input.integer(UInt16.self))
            let (kind, argument) = (input.byte(), input.byte())
            let change: Change =
                switch kind % 4 {
                case 0, 1: .flip(argument)
                case 2: .insert(argument, count: Int(kind >> 2) + 1)
                default: .remove(count: Int(kind >> 2) + 1)
                }
            changes.append((place, change))
        }
        self.changes = changes[...]
    }

    /// - Parameter only: the direction that is changed.
    mutating func apply(_ bytes: [UInt8], isUp: Bool, only: Bool) -> [UInt8] {
        guard isUp == only else { return bytes }
        var result: [UInt8] = []
        var rest = bytes[...]
        while let (next, change) = changes.first, next - place < rest.count {
            let before = rest.prefix(max(0, next - place))
            result += before
            rest = rest.dropFirst(before.count)
            place += before.count
            changes = changes.dropFirst()
            apply(change, &rest, &result)
        }
        place += rest.count
        return result + rest
    }

    private mutating func apply(_ change: Change, _ rest: inout ArraySlice<UInt8>, _ result: inout [UInt8]) {
        switch change {
        case .flip(let bits):
            guard bits != 0, let byte = rest.popFirst() else { return }
            result.append(byte ^ bits)
            place += 1
        case .insert(let byte, let count): result += [UInt8](repeating: byte, count: count)
        case .remove(let count):
            place += min(count, rest.count)
            rest = rest.dropFirst(count)
        }
        hasChangedAnything = true
    }
}
