package import TransferTestSupport

/// All states that a power cut at one point may leave.
package struct CrashOptions {
    private let names: [CrashModel.Name]
    private let files: [DiskState.Object]
    private let contents: [[[UInt8]]]

    /// - Parameters:
    ///   - end: the number of effects that have taken place.
    ///   - hidden: directories whose names are left out.
    package init(
        _ model: CrashModel, at end: Int, hidden: Set<DiskState.Object> = [], _ random: inout SplitMix64
    ) {
        names = model.names(at: end, hidden: hidden)
        files = Set(names.flatMap(\.meanings).compactMap { $0 }).subtracting(model.recording.directories).sorted()
        var contents: [[[UInt8]]] = []
        for file in files { contents.append(model.content(of: file, at: end).variants(&random)) }
        self.contents = contents
    }

    /// The state for a choice, which has an index for each name and then for each file, counted from the oldest option.
    package func state(_ choice: [Int]) -> DiskState {
        var state = DiskState()
        for (name, option) in zip(names, choice) { state.names[name.entry] = name.meanings[option] }
        for (index, file) in files.enumerated() { state.contents[file] = contents[index][choice[names.count + index]] }
        return state
    }

    /// All combinations, if there are at most `bound`. Otherwise the oldest and the newest option of everything, then
    /// for each name and file the combinations in which it alone is the newest or the oldest, and random ones.
    ///
    /// - Parameter bound: the largest number of combinations of which all are returned.
    package func choices(_ bound: Int, _ random: inout SplitMix64) -> (choices: [[Int]], areAll: Bool) {
        let options = names.map(\.meanings.count) + contents.map(\.count)
        let (count, overflow) = options.reduce((1, false)) { product, option in
            let (value, overflow) = product.0.multipliedReportingOverflow(by: option)
            return (value, overflow || product.1)
        }
        if !overflow, count <= bound { return (Self.all(options), true) }
        let oldest = options.map { _ in 0 }
        let newest = options.map { $0 - 1 }
        var chosen = [oldest, newest]
        for index in options.indices where options[index] > 1 {
            chosen.append(oldest.with(newest[index], at: index))
            chosen.append(newest.with(0, at: index))
        }
        while chosen.count < bound { chosen.append(options.map { Int.random(in: 0..<$0, using: &random) }) }
        return (chosen, false)
    }

    /// The oldest choice, the newest choice, and some others.
    ///
    /// - Parameter count: the largest number of choices to return; at least 2.
    package func some(_ count: Int, _ random: inout SplitMix64) -> [[Int]] {
        let (choices, areAll) = choices(8 * count, &random)
        guard choices.count > count else { return choices }
        // In a list of all combinations, the newest is the last.
        let newest = areAll ? choices.count - 1 : 1
        let others = choices.indices.filter { $0 != 0 && $0 != newest }.shuffled(using: &random)
        return ([0, newest] + others.prefix(count - 2)).map { choices[$0] }
    }

    private static func all(_ options: [Int]) -> [[Int]] {
        options.reduce([[]]) { chosen, option in chosen.flatMap { start in (0..<option).map { start + [$0] } } }
    }
}

extension [Int] {
    fileprivate func with(_ value: Int, at index: Int) -> [Int] {
        var copy = self
        copy[index] = value
        return copy
    }
}
