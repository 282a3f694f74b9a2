extension Flag {
    /// What there is to know beside sentences: choices, default, variables.
    func facts(in command: Command) -> String {
        let variables = command.variables(of: self)
        let facts = [
            choices.map { "One of: \($0.joined(separator: ", "))." },
            defaultValue.map { "Default: \($0)." },
            variables.isEmpty ? nil : "Environment: \(variables.joined(separator: ", ")).",
        ]
        return facts.compactMap(\.self).joined(separator: " ")
    }
}
